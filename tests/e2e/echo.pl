#!/usr/bin/perl
# echo.pl: an HTTP upstream that answers with the request as it came: its line,
# its headers, and what is known of its body.  A path with /status-NNN/ gets
# that status.
# SPDX-License-Identifier: ISC
#
# usage: echo.pl PORT NAME
use strict;
use warnings;
use Digest::SHA;
use IO::Socket::INET;

my ($port, $name) = @ARGV;
my $listen = IO::Socket::INET->new(LocalAddr => "127.0.0.1",
    LocalPort => $port, Listen => 128, ReuseAddr => 1) or die "$port: $!";
$SIG{CHLD} = "IGNORE";

# The body, handed on in pieces; its length.
sub body {
	my ($client, $head, $take) = @_;
	my $len = 0;
	my $piece = sub {
		my $left = shift;
		while ($left > 0) {
			my $want = $left < 65536 ? $left : 65536;
			my $got = read($client, my $bytes, $want) or exit 1;
			$take->($bytes);
			$len += $got;
			$left -= $got;
		}
	};
	if ($head =~ /^transfer-encoding:\s*chunked/mi) {
		while (my $line = <$client>) {
			my $size = hex($line =~ /^([0-9a-f]+)/i ? $1 : exit 1);
			$piece->($size);
			<$client>;
			last if $size == 0;
		}
	} elsif ($head =~ /^content-length:\s*(\d+)/mi) {
		$piece->($1);
	}
	return $len;
}

sub answer {
	my ($client) = @_;
	my ($head, $sum) = ("", Digest::SHA->new(256));
	while (my $line = <$client>) {
		last if $line =~ /^\r?$/;
		$head .= $line;
	}
	return if $head eq "";
	print $client "HTTP/1.1 100 Continue\r\n\r\n"
	    if $head =~ /^expect:/mi;
	my $len = body($client, $head, sub { $sum->add(shift) });
	my ($status, $type, $text) = ("200 OK", "text/plain", "name: $name\n" .
	    $head . "body: $len " . $sum->hexdigest . "\n");
	$text =~ s/\r//g;
	($type, $text) = ("application/json", '{"repositories":[]}')
	    if $head =~ m{^\S+ \S*/v2/_catalog};
	$status = "$1 As Asked" if $head =~ m{^\S+ \S*/status-(\d{3})/};
	$status .= "\r\nWWW-Authenticate: Basic realm=\"echo\""
	    if $status =~ /^401/;
	print $client "HTTP/1.1 $status\r\nContent-Type: $type\r\n" .
	    "Content-Length: " . length($text) . "\r\nX-Request-Line: " .
	    ($head =~ /^(.*?)\r?\n/)[0] . "\r\nConnection: close\r\n\r\n";
	print $client $text if $head !~ /^HEAD /;
}

while (1) {
	my $client = $listen->accept or next;
	my $pid = fork;
	next if !defined $pid || $pid > 0;
	$client->autoflush(1);
	answer($client);
	exit 0;
}
