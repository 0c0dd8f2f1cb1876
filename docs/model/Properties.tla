----------------------------- MODULE Properties -----------------------------
(* What has to hold in module Penstock. README.md says each in a sentence. *)
EXTENDS Penstock

(* Safety, always *)
\* Money is taken only with a channel, or by one of the two weaker proofs: the chain alone for rails, or a probe that was forged.
Taken == htlc = "settled" =>
  /\ proof # <<>>
  /\ \/ kind[Fund] = "good"
     \/ proof[2] = "chain" /\ Maker(Fund) \in Rails
     \/ proof[2] = "both" /\ Maker(Fund) \in Twins
\* Neither at the node, nor in the stream, nor under way.
NeverBoth == [][ /\ htlc \in {"settled", "cancelled"} => htlc' = htlc
                 /\ st \in {"settled", "cancelled"} => st' = st
                 /\ st = "cancelling" => st' \in {"cancelling", "cancelled"}
                 /\ st = "settling" => (st' \in {"settling", "settled"} \/ (st' = "cancelled" /\ htlc = "cancelled")) ]_vars
OneCall == Cardinality(calls) <= 1
PaidOnce == \A p \in DOMAIN paid : paid[p] <= 1 /\ (paid[p] = 1 => htlc = IF st = "cancelled" THEN "cancelled" ELSE "settled")
Exclusive == (\A p \in DOMAIN paid : paid[p] > 0 => to = p) /\ (st = "settled" => pay # None /\ to # None)
OneOrder == noted # None => owner[noted] = "this"
\* After an outage the guard may come late; otherwise it does not.
NoneForgotten == htlc = "held" /\ outages = 0 => h <= Last
GuardWaits == proof # <<>> /\ proof[2] = "blind" => h >= GuardEnds
EndsTrue == (os = "failed" => htlc = "cancelled") /\ (os = "valid" => htlc = "settled")
NamedIsNoted == os \in {"named", "opened"} /\ off = None => noted = nam
FewNames == Cardinality(Accepted) <= MaxNames
NotedInTime == [][noted' # noted => h <= LastBroadcast]_vars
WindowOnce == [][win # 0 => win' \in {win, 0}]_vars

(* Safety of an honest buyer *)
\* Re-orgs and forged probes apart: configurations with those do not name this property.
NotTakenFromReachable ==
  [][st # "settling" /\ st' = "settling" /\ (Buyer = "honest" \/ reached # "no") =>
       kind[noted] = "good" /\ InBlock(noted) /\ spend[noted] # "block"]_vars
ByRule == \E r \in Reasons : ends[r] = Ruled
SellerPaid == st = "settled" /\ pay \in {"paying", "paid"} /\ to # "buyer" /\ ~ByRule
BuyerSafe == SellerPaid => kind[Fund] = "good" /\ InBlock(Fund)
SoldOpen == [][pay = "payable" /\ pay' = "paying" /\ to' # "buyer" /\ ~ByRule
               => ~(spend[Fund] = "block" /\ closer[Fund] = "seller")]_vars

(* Safety of an honest seller *)
\* A channel whose end was in a block is over for both nodes, also where a re-org takes that block back.
Lives(o) == Maker(o) \in Honest /\ kind[o] = "good" /\ spend[o] \notin {"block", "again"} /\ (InBlock(o) \/ place[o] = Mem)
Free(o) == Lives(o) /\ ((st = "cancelled" /\ pay \in {None, "void"}) \/ (st = "settled" /\ to = "buyer" /\ ~ByRule))
\* Owed to the buyer, which closed the channel itself.
Robbed(o) == /\ st = "settled" /\ to = "buyer" /\ ~ByRule /\ o = Fund
             /\ Maker(o) \in Honest /\ kind[o] = "good" /\ InBlock(o) /\ closer[o] = "buyer"
\* The exception: a buyer that hides or turns hostile before there is a peer proof.
SellerSafe == \A o \in Outs :
  /\ Free(o) => Buyer # "honest" /\ (noted # o \/ (peer = None /\ (Maker(o) \notin Rails \/ reached = "yes")))
  /\ ~Robbed(o)
NoRuling == ~ByRule
LossStaysOpen == pay = "loss" \/ (st = "cancelled" /\ pay \in {"paying", "paid"}) => Unspent(noted) \/ closer[noted] = "buyer"

(* To be violated: the states that the properties speak of are reached *)
NeverPaid == ~SellerPaid
NeverBorne == ~(st = "cancelled" /\ pay = "paid")
NeverRefunded == paid["buyer"] = 0
NeverFree == \A o \in Outs : ~Free(o)
NeverCleared == ends["closed"] # Cleared
\* At the end of a wait for a spend the funding is in the chain, and not buried: it is paid once it is.
NeverShallow == Sale /\ h < MaxH /\ Due("spend") /\ Active("spend") => Deep \/ ~InBlock(Fund)

(* Liveness *)
OrdersEnd == <>(os \in {"failed", "valid"})
PayablesEnd == <>[](pay \in {None, "paid", "void"})
FreeIsClosed == \A o \in Outs : Free(o) ~> spend[o] # None
=============================================================================
