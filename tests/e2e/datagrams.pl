#!/usr/bin/perl
# datagrams.pl: prints what comes to a unix datagram socket, a line each
# SPDX-License-Identifier: ISC
#
# usage: datagrams.pl PATH
use strict;
use warnings;
use IO::Socket::UNIX;
use Socket;

my $path = shift;
unlink $path;
umask 0; # whoever the web server is
my $socket = IO::Socket::UNIX->new(Type => SOCK_DGRAM, Local => $path)
    or die "$path: $!";
$| = 1;
while (defined $socket->recv(my $line, 8192)) {
	chomp $line;
	print "$line\n";
}
