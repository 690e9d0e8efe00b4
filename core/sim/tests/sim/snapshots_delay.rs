//! Snapshots of delay-based schemes, in whole packets.

use crate::support::{alone, together, with_loss};

#[test]
fn delay_based_schemes_alone() {
    insta::assert_snapshot!(alone(["cdg", "copa", "lp", "nv", "vegas", "veno", "yeah"]), @r"
    cwnd 70 67 67 65 61 83 61 59 82 53 76 75 74 73 68 67 66 88 81 77
    cdg: sent 31114 delivered 31071 lost 0 retransmitted 0 timeouts 0
    link: offered 31114 delivered 31071 dropped 0 lost 0 queued 10 in flight 33

    cwnd 85 72 72 71 69 68 69 68 70 71 72 72 70 70 68 68 69 70 71 72
    copa: sent 32788 delivered 32751 lost 0 retransmitted 0 timeouts 0
    link: offered 32788 delivered 32751 dropped 0 lost 0 queued 4 in flight 33

    cwnd 74 94 110 124 69 90 107 121 134 86 103 118 132 81 100 115 129 76 96 112
    lp: sent 33360 delivered 33138 lost 143 retransmitted 143 timeouts 0
    link: offered 33360 delivered 33138 dropped 143 lost 0 queued 45 in flight 34

    cwnd 78 78 78 78 78 78 78 87 87 87 87 87 87 87 87 87 96 96 96 96
    nv: sent 33227 delivered 33165 lost 0 retransmitted 0 timeouts 0
    link: offered 33227 delivered 33165 dropped 0 lost 0 queued 29 in flight 33

    cwnd 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72 72
    vegas: sent 33230 delivered 33165 lost 27 retransmitted 27 timeouts 0
    link: offered 33230 delivered 33165 dropped 27 lost 0 queued 5 in flight 33

    cwnd 73 83 92 101 109 116 123 129 70 81 91 99 107 115 121 128 99 80 89 98
    veno: sent 33350 delivered 33150 lost 137 retransmitted 137 timeouts 0
    link: offered 33350 delivered 33150 dropped 137 lost 0 queued 30 in flight 33

    cwnd 133 133 86 104 119 132 83 101 116 130 79 98 113 127 75 94 111 125 70 91
    yeah: sent 33600 delivered 33148 lost 395 retransmitted 395 timeouts 0
    link: offered 33600 delivered 33148 dropped 395 lost 0 queued 24 in flight 33
    ");
}

#[test]
fn delay_based_schemes_beside_loss_based_ones() {
    let pairs = [["copa", "cubic"], ["lp", "cubic"], ["vegas", "reno"], ["cdg", "reno"]];
    insta::assert_snapshot!(pairs.map(|pair| together(&pair)).join("\n"), @r"
    cwnd 18 37 55 68 79 71 55 78 66 65 66 59 60 76 63 71 66 49 68 70
    copa: sent 18054 delivered 17952 lost 57 retransmitted 57 timeouts 0
    cubic: sent 15330 delivered 15271 lost 29 retransmitted 29 timeouts 0
    link: offered 33384 delivered 33223 dropped 86 lost 0 queued 41 in flight 34

    cwnd 66 46 61 39 55 68 48 62 40 56 69 49 63 42 57 48 50 64 43 58
    lp: sent 15757 delivered 15631 lost 72 retransmitted 72 timeouts 0
    cubic: sent 17637 delivered 17592 lost 12 retransmitted 12 timeouts 0
    link: offered 33394 delivered 33223 dropped 84 lost 0 queued 53 in flight 34

    cwnd 26 12 8 9 13 9 6 5 12 9 6 5 12 10 7 5 13 10 7 6
    vegas: sent 3239 delivered 3206 lost 27 retransmitted 27 timeouts 0
    reno: sent 30189 delivered 30017 lost 85 retransmitted 85 timeouts 0
    link: offered 33428 delivered 33223 dropped 112 lost 0 queued 59 in flight 34

    cwnd 23 19 17 18 32 21 15 8 12 10 25 17 17 20 18 17 15 13 23 15
    cdg: sent 5364 delivered 5346 lost 10 retransmitted 10 timeouts 0
    reno: sent 28021 delivered 27860 lost 92 retransmitted 92 timeouts 0
    link: offered 33385 delivered 33206 dropped 102 lost 0 queued 44 in flight 33
    ");
}

#[test]
fn veno_and_copa_with_one_percent_of_random_loss() {
    insta::assert_snapshot!(with_loss(["veno", "copa"]), @r"
    cwnd 29 22 20 23 10 16 13 15 15 16 24 14 30 17 14 24 20 28 15 19
    veno: sent 9877 delivered 9770 lost 90 retransmitted 90 timeouts 0
    link: offered 9877 delivered 9780 dropped 0 lost 91 queued 0 in flight 6

    cwnd 94 66 68 71 70 69 68 79 69 71 71 70 77 75 69 69 71 74 70 68
    copa: sent 32449 delivered 32114 lost 300 retransmitted 300 timeouts 0
    link: offered 32449 delivered 32114 dropped 0 lost 300 queued 2 in flight 33
    ");
}
