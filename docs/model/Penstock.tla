------------------------------ MODULE Penstock ------------------------------
(* The money of one order: from the paid hold invoice to the payout, or back   *)
(* to the buyer. README.md says what the model abstracts and how to run it.    *)
(* Without `Faults` the module describes the protocol as it is meant.          *)
(* Heights are scaled down; only their order matters:                          *)
(*   LastBroadcast < ReachFrom (E-27) < Last (E-24) < GuardEnds (E-18)         *)
(*   < NodesOwn (the node's own line) < E.                                     *)
(* A crash needs no action: each step is atomic and durable, and intent, call  *)
(* and outcome are three steps. Messages stay in `msgs` and are taken in any   *)
(* order and any number of times, so delivery may be late, double or lost.     *)
EXTENDS Integers, Sequences, FiniteSets, TLC

CONSTANTS
  E, Guard, Own,          \* expiry of the HTLC; blocks before it: the guard, the node's own line
  Req, PayDepth,          \* confirmations to settle; to pay out, which is also when a channel is announced
  SeenIn, Edge, Held,     \* blocks: window of naming; its end without new outpoints; of a withheld payout
  MaxH,                   \* last height of the model; it stands for all that follow
  MaxNames, MaxSaid,      \* outpoints that an attempt may name; namings in this model
  Outs, Replicas,         \* outpoints that sellers may name; replicas of settlement
  Honest, Rails,          \* sellers ("A", "B") that are honest; that are in the rails cluster
  Kinds,                  \* channels of a dishonest seller: "good", "small" (too little), "alien" (to another node)
  Twins, Known,           \* sellers with another channel to the buyer: unknown to our graph; known to it
  Buyer,                  \* "honest", "flaky" (honest, at times offline), or hostile: "hider" (goes offline),
                          \* "mute" (reachable, answers no probe), "closer" (force-closes), "thief" (all three)
  ReOrgs, Outages, Downs, \* number of re-orgs and of outages of our node; outages are "away", "starting" or both
  Void,                   \* whether a funding that an honest seller prepared may become void
  QuickOrder,             \* whether the order answers each naming within the block
  OperatorCloses,         \* whether an operator may close an order at any time before the money is taken
  SpendsVanish,           \* whether a spend may leave the mempools again
  Faults                  \* names of injected faults; configurations.ts describes each

Last == E - Guard                       \* from here on every hold is settled or cancelled
ReachFrom == Last - 1                   \* from here on our node tries at every block to reach the buyer's
GuardEnds == Last + 1                   \* the guard waits no longer for a node that is not ready
NodesOwn == E - Own                     \* the node cancels by itself
LastBroadcast == Last - Req - 1         \* a naming above this height is refused
None == "none"
Ruled == -1  Cleared == -2              \* in the place of an end height: an operator decided; the buyer closed, so it is over
Unpub == -2  Mem == -1  Dead == 99      \* where a funding is, if not in a block: not published, mempool, double-spent
Sellers == {"A", "B"}
Reasons == {"spend", "closed", "reorg", "peer"}    \* a spend in a mempool; one in a block; funding re-orged; peer proof missing or forgeable
Maker(o) == IF o \in {"a1", "a2"} THEN "A" ELSE "B"
Has(x) == x \in Faults

VARIABLES
  h, reorgs, kind, place,          \* height; re-orgs so far; per outpoint: kind of channel; where its funding is
  spend, closer, saw, buyer,       \* per outpoint: "mem", "block", "again" or "gone"; who broadcast the spend. Once confirmed; the buyer's node
  node, outages, htlc,             \* our node: "ready", "starting" (answers, is not synced), "away"; its HTLC
  st, noted, notedN, asked, calls, proof, peer, reached,   \* settlement's stream, calls under way, evidence recorded in it
  look,                            \* per replica: the evidence that it has gathered and will speak by
  os, who, off, nam, names, win,   \* order: status, seller, outpoint under way, named outpoint, all namings, end of the window
  msgs, owner,                     \* messages; the order that an outpoint is claimed for
  pay, to, ends, paid              \* the payable: state, creditor, end height by reason; payouts made by creditor

world == <<h, reorgs, kind, place, spend, closer, saw, buyer>>
lnd   == <<node, outages, htlc>>
settl == <<st, noted, notedN, asked, calls, proof, peer, reached>>
order == <<os, who, off, nam, names, win>>
money == <<pay, to, ends, paid>>
vars  == <<world, lnd, settl, look, order, msgs, owner, money>>
rest  == <<settl, look, order, msgs, owner, money>>           \* all that the world does not touch

Init ==
  /\ h = 0 /\ reorgs = 0 /\ saw = {} /\ buyer = "here" /\ node = "ready" /\ outages = 0 /\ htlc = "open"
  /\ kind = [o \in Outs |-> None] /\ place = [o \in Outs |-> Unpub]
  /\ spend = [o \in Outs |-> None] /\ closer = [o \in Outs |-> None]
  /\ st = "open" /\ noted = None /\ notedN = 0 /\ asked = None /\ calls = {} /\ proof = <<>> /\ peer = None /\ reached = "no"
  /\ look = [r \in Replicas |-> <<>>]
  /\ os = "unpaid" /\ who = "A" /\ off = None /\ nam = None /\ names = <<>> /\ win = 0
  /\ msgs = {} /\ owner = [o \in Outs |-> None]
  /\ pay = None /\ to = None /\ ends = [r \in Reasons |-> 0] /\ paid = [p \in Sellers \cup {"buyer"} |-> 0]

Ready == node = "ready"
InBlock(o) == place[o] >= 0 /\ place[o] # Dead
Conf(o) == IF InBlock(o) THEN h - place[o] + 1 ELSE 0
Unspent(o) == spend[o] \in {None, "gone"}
Waits(o) == spend[o] \in {"mem", "again"}           \* in a mempool: for the first time, or since a re-org took back its block

(* Proofs of a channel *)
\* A probe through this very output. A seller with another channel to the buyer can forge it, unless our graph knows that channel.
CanProbe == /\ noted # None /\ peer = None /\ buyer = "here" /\ Unspent(noted) /\ Maker(noted) \notin Known
            /\ (InBlock(noted) \/ (Has("zero-conf") /\ place[noted] = Mem))
            /\ (kind[noted] = "good" \/ (kind[noted] = "alien" /\ Maker(noted) \in Twins))
\* Both nodes signed the announcement; nobody can forge it.
CanAnnounce == /\ noted # None /\ peer # "ann" /\ kind[noted] = "good" /\ Conf(noted) >= PayDepth
               /\ buyer = "here" /\ spend[noted] # "block"
Wrong(o) == (kind[o] = "small" /\ place[o] # Unpub) \/ spend[o] = "block"
Verdict(o, last) ==
  IF o = None THEN "unnamed"
  ELSE IF Wrong(o) THEN "wrong"
  ELSE IF Waits(o) /\ (~last \/ Has("spend-counts")) THEN "undecided"
  ELSE IF place[o] \in {Unpub, Dead} \/ Conf(o) < (IF Has("zero-conf") THEN 0 ELSE IF last THEN 1 ELSE Req) THEN "undecided"
  ELSE IF peer # None THEN "both"
  ELSE IF last /\ (Maker(o) \in Rails \/ Has("chain-for-all")) /\ (reached # "yes" \/ Has("chain-for-reachable")) THEN "chain"
  ELSE "undecided"

(* Reasons that withhold a payout *)
Sale == st = "settled" /\ pay = "payable" /\ Ready
Fund == proof[1]
Due(r) == ends[r] > 0 /\ (h >= ends[r] \/ h = MaxH)
Deep == Conf(Fund) >= PayDepth \/ (h = MaxH /\ InBlock(Fund))
Active(r) ==
  /\ ends[r] \notin {Ruled, Cleared}
  /\ CASE r = "spend"  -> Waits(Fund)
       [] r = "closed" -> spend[Fund] = "block" /\ ~Has("spend-forgotten")
       [] r = "reorg"  -> ~InBlock(Fund)
       [] r = "peer"   -> /\ peer # "ann" /\ (proof[2] = "chain" \/ Maker(Fund) \notin Rails \/ ~Has("rails-do-not-wait"))
                          /\ ~(Has("one-reason") /\ ends["spend"] > 0)
Judged(r) == (r = "peer" /\ ~Has("peer-end-pays")) \/ r = "closed"
Through(r) == ~Active(r) \/ (Due(r) /\ ~Judged(r) /\ r # "reorg" /\ ~(r = "spend" /\ Has("spend-for-ever")))

(* Assumptions about timing *)
\* A block is long compared with a look: what these heights ask for is done within it, while the node is ready.
CanTry == Ready /\ st = "held" /\ h >= ReachFrom /\ reached # "yes" /\ buyer # "hidden"
Open == st \in {"held", "settling", "cancelling"}
Prompt == /\ ~CanTry
          /\ Open /\ Ready => h < Last \/ Has("no-guard")
          /\ Open /\ node = "starting" => h < GuardEnds
          /\ Sale => os = "valid" /\ \A r \in Reasons : Active(r) = (ends[r] > 0)
          /\ QuickOrder => off = None
Cut(height) == IF htlc = "held" /\ ((Ready /\ height >= NodesOwn) \/ height >= E) THEN "cancelled" ELSE htlc
\* broadcast_until_height, told with the permit: the lower of the last height and the last one within the window of naming.
InTime == (h <= LastBroadcast \/ Has("no-last-height")) /\ (h < win \/ Has("permit-past-window") \/ (win = 0 /\ Has("ack-early")))
Permit(o) == (os = "named" /\ nam = o) \/ (Has("ack-early") /\ off = o)
Over == os \in {"failed", "valid"} /\ pay \in {None, "paid", "void"} /\ off = None

\* A dishonest party does anything with an outpoint, as long as that can matter.
Matters(o) == IF st = "settled" THEN o = noted ELSE st # "cancelled" /\ (o \in {off, nam, noted} \/ Len(names) < MaxSaid)
Bad(o) == Maker(o) \notin Honest /\ Matters(o) /\ ~Over
Hostile(o) == kind[o] = "good" /\ Buyer \in {"closer", "thief"} /\ st # "cancelled"

(* The world: chain, node, buyer, sellers *)
\* Honest sellers publish at once and bump their fees. Transactions of others may wait.
Block == \E C \in SUBSET {o \in Outs : place[o] = Mem} : \E S \in SUBSET {o \in Outs : Waits(o) /\ (InBlock(o) \/ o \in C)} :
  /\ h < MaxH /\ st # "open" /\ Prompt /\ ~Over /\ (Ready \/ h < E)        \* an outage ends before the model does
  /\ \A o \in Outs : /\ place[o] = Mem /\ (Maker(o) \in Honest \/ ~Matters(o)) => o \in C
                     /\ ~(Maker(o) \in Honest /\ Permit(o) /\ kind[o] # None /\ place[o] = Unpub /\ InTime)
  /\ h' = h + 1 /\ htlc' = Cut(h + 1) /\ saw' = saw \cup C
  /\ place' = [o \in Outs |-> IF o \in C THEN h + 1 ELSE place[o]]
  /\ spend' = [o \in Outs |-> IF o \in S THEN "block" ELSE spend[o]]
  /\ UNCHANGED <<reorgs, kind, closer, buyer, node, outages, rest>>
ReOrg == \E d \in 1..(PayDepth - 1) :                      \* a payout is deeper than any re-org
  LET back(o) == InBlock(o) /\ place[o] > h - d IN
  /\ h <= E /\ reorgs < ReOrgs /\ reorgs' = reorgs + 1 /\ \E o \in Outs : back(o)
  /\ place' = [o \in Outs |-> IF back(o) THEN Mem ELSE place[o]]
  /\ spend' = [o \in Outs |-> IF back(o) /\ spend[o] = "block" THEN "again" ELSE spend[o]]
  /\ UNCHANGED <<h, kind, closer, saw, buyer, lnd, rest>>

NodeGoes == \E n \in Downs :
  /\ Ready /\ outages < Outages /\ node' = n /\ outages' = outages + 1 /\ UNCHANGED <<htlc, world, rest>>
NodeComes == /\ ~Ready /\ node' = "ready" /\ htlc' = (IF htlc = "held" /\ h >= NodesOwn THEN "cancelled" ELSE htlc)
             /\ UNCHANGED <<outages, world, rest>>

BuyerPays == /\ htlc = "open" /\ Ready /\ htlc' = "held"     \* also in the last moment, before anybody knows
             /\ UNCHANGED <<node, outages, world, rest>>
BuyerTurns == /\ \/ buyer = "here" /\ Buyer \in {"flaky", "hider", "thief"} /\ buyer' = "hidden"
                 \/ buyer = "here" /\ Buyer \in {"mute", "thief"} /\ buyer' = "mute"
                 \/ buyer = "hidden" /\ Buyer = "flaky" /\ buyer' = "here"
              /\ UNCHANGED <<h, reorgs, kind, place, spend, closer, saw, lnd, rest>>
\* A force-close by a dishonest party, or by an honest seller's agent once the order failed and nobody pays for the channel.
Close == \E o \in Outs : \E by \in {"buyer", "seller"} :
  /\ InBlock(o) /\ spend[o] = None
  /\ IF by = "buyer" THEN Hostile(o)
     ELSE Bad(o) \/ (os = "failed" /\ (o # noted \/ pay \in {None, "void"} \/ Has("agent-closes-all")))
  /\ spend' = [spend EXCEPT ![o] = "mem"] /\ closer' = [closer EXCEPT ![o] = by]
  /\ UNCHANGED <<h, reorgs, kind, place, saw, buyer, lnd, rest>>
\* A spend leaves the mempools again; for fewer states the output is not spent another time.
SpendVanishes == \E o \in Outs :
  /\ SpendsVanish /\ Waits(o) /\ (IF closer[o] = "buyer" THEN Hostile(o) ELSE Bad(o)) /\ spend' = [spend EXCEPT ![o] = "gone"]
  /\ UNCHANGED <<h, reorgs, kind, place, closer, saw, buyer, lnd, rest>>

\* A replaced seller (A) may still name while B has not. An outpoint may be replaced until it is seen.
Accepted == {m[2] : m \in {x \in msgs : x[1] = "noted"}}
MayName(o) == /\ off = None /\ Len(names) < MaxSaid /\ o # nam
              /\ (o = "a2" => kind["a1"] # None)             \* symmetry by hand
              /\ \/ os = "open" /\ Maker(o) \in {who, "A"}
                 \/ /\ os = "named" /\ Maker(o) = Maker(nam) /\ place[nam] \in {Unpub, Dead}
                    /\ (o \in Accepted \/ h < win - Edge \/ Has("no-edge"))
              /\ (o \in Accepted \/ Cardinality(Accepted) < MaxNames \/ Has("names-without-end"))
Name == \E o \in Outs : \E k \in (IF Maker(o) \in Honest THEN {"good"} ELSE Kinds) :
  /\ Ready /\ MayName(o) /\ (IF kind[o] = None THEN TRUE ELSE kind[o] = k /\ o \in Accepted /\ Maker(o) \notin Honest)
  \* An honest seller is not late, and names another outpoint only where it has to.
  /\ Maker(o) \in Honest => (IF os = "open" THEN Maker(o) = who ELSE place[nam] = Dead)
  /\ kind' = [kind EXCEPT ![o] = k] /\ off' = o /\ names' = Append(names, o)
  /\ win' = IF win = 0 /\ Has("window-from-naming") THEN h + SeenIn ELSE win
  /\ UNCHANGED <<h, reorgs, place, spend, closer, saw, buyer, lnd, settl, look, os, who, nam, msgs, owner, money>>
Publish(o) ==
  /\ kind[o] # None /\ place[o] = Unpub /\ (Bad(o) \/ (Maker(o) \in Honest /\ InTime /\ Permit(o)))
  /\ place' = [place EXCEPT ![o] = Mem]
  /\ UNCHANGED <<h, reorgs, kind, spend, closer, saw, buyer, lnd, rest>>
DoubleSpend == \E o \in Outs :
  /\ \/ place[o] = Mem /\ Bad(o)
     \/ place[o] = Unpub /\ nam = o /\ Void
  /\ place' = [place EXCEPT ![o] = Dead]
  /\ UNCHANGED <<h, reorgs, kind, spend, closer, saw, buyer, lnd, rest>>
OtherOrder == \E o \in Outs :                                \* a dishonest seller serves another order with it
  /\ Bad(o) /\ off = o /\ owner[o] = None /\ owner' = [owner EXCEPT ![o] = "other"]
  /\ UNCHANGED <<world, lnd, settl, look, order, msgs, money>>

(* The order: it asks and closes, and never touches money *)
Send(m) == msgs' = msgs \cup m
OrderHeld == /\ os = "unpaid" /\ st \notin {"open", "cancelled"} /\ os' = "open"
             /\ UNCHANGED <<world, lnd, settl, look, who, off, nam, names, win, msgs, owner, money>>
\* Expired unpaid, cancelled by its buyer, or without another seller.
OrderCloses == /\ os \in {"unpaid", "open"} /\ os' = "closing" /\ Send({<<"cancel">>})
               /\ UNCHANGED <<world, lnd, settl, look, who, off, nam, names, win, owner, money>>
\* What is noted then is the operator's loss if it turns out to be a channel.
CloseByOperator == /\ OperatorCloses /\ os \in {"open", "named", "opened"} /\ os' = "closing" /\ Send({<<"close">>})
                   /\ UNCHANGED <<world, lnd, settl, look, who, off, nam, names, win, owner, money>>
NextSeller == /\ os = "open" /\ who = "A" /\ off = None /\ who' = "B"
              /\ UNCHANGED <<world, lnd, settl, look, os, off, nam, names, win, msgs, owner, money>>
N == Len(names)                                              \* number of the naming that is under way
Claim == /\ off # None /\ <<"note", off, N>> \notin msgs
         /\ IF owner[off] = "other" /\ ~Has("no-claim")
              THEN off' = None /\ UNCHANGED <<msgs, owner>>
              ELSE /\ owner' = [owner EXCEPT ![off] = IF @ = None THEN "this" ELSE @]
                   /\ Send({<<"note", off, N>>}) /\ UNCHANGED off
         /\ UNCHANGED <<world, lnd, settl, look, os, who, nam, names, win, money>>
\* The naming is accepted, and acknowledged. The window counts from the first one of the attempt.
OrderNoted == /\ off # None /\ \E m \in msgs : m[1] = "noted" /\ m[2] = off /\ (m[3] = N \/ Has("any-ack"))
              /\ IF os \in {"open", "named", "opened"}        \* what settlement noted counts, also where the old one was seen
                   THEN /\ os' = "named" /\ nam' = off /\ who' = Maker(off)
                        /\ win' = IF win = 0 \/ Has("old-window") THEN h + SeenIn ELSE win
                   ELSE UNCHANGED <<os, nam, who, win>>
              /\ off' = None
              /\ UNCHANGED <<world, lnd, settl, look, names, msgs, owner, money>>
OrderRefused == /\ off # None /\ <<"refused", off, N>> \in msgs /\ off' = None
                /\ UNCHANGED <<world, lnd, settl, look, os, who, nam, names, win, msgs, owner, money>>
\* Reports of the watch; each may be old when it is taken. What was confirmed in time stays in time.
Late(o) == \/ h >= win /\ place[o] \in {Unpub, Dead}
           \/ h >= win + 1 /\ (IF Has("reorg-is-late") THEN Conf(o) = 0 ELSE o \notin saw)
Watch == /\ Ready /\ nam # None
         /\ \/ Conf(nam) >= Req /\ Send({<<"deep", nam>>})
            \/ (Late(nam) \/ Wrong(nam)) /\ Send({<<"lost", nam>>})
         /\ UNCHANGED <<world, lnd, settl, look, order, owner, money>>
OrderDeep == /\ os = "named" /\ <<"deep", nam>> \in msgs /\ os' = "opened" /\ Send({<<"settle", nam>>})
             /\ UNCHANGED <<world, lnd, settl, look, who, off, nam, names, win, owner, money>>
OrderLost == /\ os \in {"named", "opened"} /\ off = None /\ <<"lost", nam>> \in msgs
             /\ os' = "closing" /\ Send({<<"cancel">>})
             /\ UNCHANGED <<world, lnd, settl, look, who, off, nam, names, win, owner, money>>
\* What nobody reads after the settlement is forgotten, for fewer states.
OrderEnds == /\ os \notin {"failed", "valid"} /\ off' = None
             /\ \/ st = "settled" /\ os' = "valid" /\ msgs' = {} /\ nam' = None /\ names' = <<>> /\ win' = 0
                \/ /\ st = "cancelled" \/ (Has("end-early") /\ os = "closing")
                   /\ os' = "failed" /\ UNCHANGED <<msgs, nam, names, win>>
             /\ UNCHANGED <<world, lnd, settl, look, who, owner, money>>

(* Settlement: it alone takes the money or gives it back. Each append is at the expected revision, so each *)
(* step decides on the present stream; only its evidence may be older.                                     *)
RecordHeld == /\ Ready /\ st = "open" /\ htlc = "held" /\ st' = "held"
              /\ UNCHANGED <<world, lnd, noted, notedN, asked, calls, proof, peer, reached, look, order, msgs, owner, money>>
TakeCancel == \E m \in {<<"cancel">>, <<"close">>} \cap msgs :
  /\ st \in {"open", "held"} \cup (IF Has("cancel-late") THEN {"settling"} ELSE {})
  /\ st' = "cancelling"
  /\ proof' = IF m = <<"close">> /\ noted # None /\ proof = <<>> THEN <<noted, "operator", None>> ELSE proof
  /\ UNCHANGED <<world, lnd, noted, notedN, asked, calls, peer, reached, look, order, msgs, owner, money>>
TakeNote == \E m \in {x \in msgs : x[1] = "note"} : LET o == m[2] n == m[3] IN
  /\ Ready /\ (n > notedN \/ (Has("old-note") /\ noted # o))
  /\ ({<<"noted", o, n>>, <<"refused", o, n>>} \cap msgs = {} \/ Has("old-note"))
  /\ IF st = "held" /\ (h <= LastBroadcast \/ Has("late-note"))
       THEN /\ noted' = o /\ notedN' = n /\ Send({<<"noted", o, n>>})
            /\ peer' = IF noted = o THEN peer ELSE None
       ELSE Send({<<"refused", o, n>>}) /\ UNCHANGED <<noted, notedN, peer>>
  /\ UNCHANGED <<world, lnd, st, asked, calls, proof, reached, look, order, owner, money>>
TakeSettle == /\ st = "held" /\ noted # None /\ <<"settle", noted>> \in msgs /\ asked # noted /\ asked' = noted
              /\ IF Has("trust-order") THEN st' = "settling" /\ proof' = <<noted, "both", None>> ELSE UNCHANGED <<st, proof>>
              /\ UNCHANGED <<world, lnd, noted, notedN, calls, peer, reached, look, order, msgs, owner, money>>
\* What our node finds out about the buyer is recorded, and stays.
Prove == /\ Ready
         /\ \/ CanProbe /\ st = "held" /\ peer' = "probe"
            \/ CanAnnounce /\ st \in {"held", "settled"} /\ peer' = "ann"
         /\ UNCHANGED <<world, lnd, st, noted, notedN, asked, calls, proof, reached, look, order, msgs, owner, money>>
Reach == /\ \/ CanTry /\ reached' = "yes"
            \/ reached = "yes" /\ st = "held" /\ Has("reached-in-memory") /\ reached' = "forgotten"
         /\ UNCHANGED <<world, lnd, st, noted, notedN, asked, calls, proof, peer, look, order, msgs, owner, money>>

\* The guard, in two steps: a replica looks, and later speaks by what it saw. A look is good within its block.
Look(r) ==
  /\ st = "held" /\ look[r] = <<>> /\ ~Has("no-guard")
  /\ \/ /\ Ready /\ (h >= Last \/ (asked # None /\ asked = noted)) /\ ~CanProbe /\ ~CanAnnounce
        /\ (~CanTry \/ Has("untried"))
        /\ look' = [look EXCEPT ![r] = <<noted, Verdict(noted, h >= Last), h>>]
     \/ /\ node = "starting" /\ h >= (IF Has("no-wait") THEN Last ELSE GuardEnds)       \* it waited as long as it may
        /\ look' = [look EXCEPT ![r] = <<noted, "blind", h>>]
  /\ UNCHANGED <<world, lnd, settl, order, msgs, owner, money>>
Speak(r) ==
  /\ look[r] # <<>> /\ look' = [look EXCEPT ![r] = <<>>]
  /\ LET o == look[r][1] v == look[r][2] last == look[r][3] >= Last
         counts == (st = "held" \/ Has("no-revision")) /\ noted = o /\ look[r][3] = h IN
     IF counts /\ v = "chain" /\ reached = "yes" /\ ~Has("stale-reach") /\ ~Has("chain-for-reachable") THEN UNCHANGED <<st, proof>>
     ELSE IF counts /\ v \in {"both", "chain"} THEN st' = "settling" /\ proof' = <<o, v, spend[o]>>
     ELSE IF counts /\ last /\ st \in {"held", "settling"}
       THEN st' = "cancelling" /\ proof' = IF v = "blind" THEN <<o, v, None>> ELSE proof
     ELSE UNCHANGED <<st, proof>>
  /\ UNCHANGED <<world, lnd, noted, notedN, asked, calls, peer, reached, order, msgs, owner, money>>

\* Effects: the call is sent, arrives at some time or never, and what the node shows is recorded.
Call == /\ node # "away" /\ st \in {"settling", "cancelling"}
        /\ calls' = calls \cup {IF st = "settling" THEN "settle" ELSE "cancel"}
        /\ UNCHANGED <<world, lnd, st, noted, notedN, asked, proof, peer, reached, look, order, msgs, owner, money>>
Arrive == /\ node # "away" /\ \/ "settle" \in calls /\ htlc = "held" /\ htlc' = "settled"
                              \/ "cancel" \in calls /\ htlc \in {"open", "held"} /\ htlc' = "cancelled"
          /\ UNCHANGED <<node, outages, world, rest>>
\* The operator bears the loss where the node gave the hold back by itself, the guard had to give it up unseen, or the operator
\* closed the order, and an outpoint is noted. Whether it is a channel is looked at when the operator confirms.
Borne == /\ noted # None
         /\ \/ st \in {"held", "settling"} /\ (proof # <<>> \/ ~Has("proven-before")) /\ ~Has("node-loss-not-borne")
            \/ st = "cancelling" /\ proof # <<>> /\ proof[2] = "blind" /\ ~Has("guard-loss-not-borne")
            \/ st = "cancelling" /\ proof # <<>> /\ proof[2] = "operator" /\ ~Has("close-not-borne")
Outcome == /\ node # "away"
           /\ \/ /\ st = "settling" /\ (htlc = "settled" \/ Has("pay-early")) /\ st' = "settled"
                 /\ pay' = "payable" /\ to' = Maker(proof[1])
              \/ /\ htlc = "cancelled" /\ st \in {"open", "held", "settling", "cancelling"} /\ st' = "cancelled"
                 /\ IF Borne THEN pay' = "loss" /\ to' = Maker(noted) ELSE UNCHANGED <<pay, to>>
           /\ UNCHANGED <<world, lnd, noted, notedN, asked, calls, proof, peer, reached, look, order, msgs, owner, ends, paid>>

(* The payout: at PayDepth confirmations, once no reason stands; looked up by hash before it is sent *)
quiet == <<world, lnd, settl, look, order, msgs, owner>>
Withhold == \E r \in Reasons : /\ Sale /\ Active(r) /\ ends[r] = 0 /\ ends' = [ends EXCEPT ![r] = h + Held]
                               /\ UNCHANGED <<quiet, pay, to, paid>>
Lift == \E r \in Reasons : /\ Sale /\ ~Active(r) /\ ends[r] > 0 /\ ends' = [ends EXCEPT ![r] = 0]
                           /\ UNCHANGED <<quiet, pay, to, paid>>
PayAsked == /\ Sale /\ Deep /\ (\A r \in Reasons : Through(r)) /\ pay' = "paying"
            /\ UNCHANGED <<quiet, to, ends, paid>>
\* The end, and the funding is not in the chain any more: owed to the buyer.
PayCloses == /\ Sale /\ ~Has("for-ever")
             /\ \/ (Due("reorg") \/ Due("spend")) /\ ~InBlock(Fund)
                \/ Has("shallow-end-closes") /\ Due("spend") /\ Active("spend") /\ ~Deep
             /\ pay' = "owed" /\ to' = "buyer" /\ UNCHANGED <<quiet, ends, paid>>
\* A spend in a block, and it is known who closed: the buyer, then the reason is over; the seller, then it is owed to the buyer.
CloserKnown == /\ Sale /\ Active("closed") /\ ends["closed"] > 0
               /\ IF closer[Fund] = "buyer" /\ ~Has("blames-seller")
                    THEN ends' = [ends EXCEPT !["closed"] = Cleared] /\ UNCHANGED <<pay, to>>
                    ELSE pay' = "owed" /\ to' = "buyer" /\ UNCHANGED ends
               /\ UNCHANGED <<quiet, paid>>
\* The end of a reason that nobody else can judge: an operator decides. For the seller it lifts that reason alone.
OperatorRules == \E r \in Reasons :
  /\ (Sale /\ Active(r)) \/ (Has("rules-while-paying") /\ st = "settled" /\ pay = "paying")
  /\ Judged(r) /\ Due(r) /\ ~CanAnnounce /\ InBlock(Fund) /\ ends' = [ends EXCEPT ![r] = Ruled]
  /\ \/ UNCHANGED <<pay, to>>
     \/ pay' = "owed" /\ to' = "buyer"
  /\ UNCHANGED <<quiet, paid>>
\* A loss is confirmed if there is such a channel, and void once there can be none.
Channel(o) == kind[o] = "good" /\ (spend[o] # "block" \/ closer[o] = "buyer")
OperatorConfirms == /\ pay = "loss" /\ Ready
                    /\ \/ Channel(noted) /\ InBlock(noted) /\ pay' = "paying"
                       \/ ~InBlock(noted) /\ (place[noted] # Mem \/ h = MaxH \/ kind[noted] # "good") /\ pay' = "void"
                       \/ InBlock(noted) /\ ~Channel(noted) /\ pay' = "void"
                    /\ UNCHANGED <<quiet, to, ends, paid>>
BuyerAsks == pay = "owed" /\ pay' = "paying" /\ UNCHANGED <<quiet, to, ends, paid>>
PaySent == /\ pay = "paying" /\ Ready /\ (paid[to] = 0 \/ (Has("pay-blind") /\ paid[to] < 2))
           /\ paid' = [paid EXCEPT ![to] = @ + 1] /\ UNCHANGED <<quiet, pay, to, ends>>
PayTold == pay = "paying" /\ Ready /\ paid[to] > 0 /\ pay' = "paid" /\ UNCHANGED <<quiet, to, ends, paid>>

Ours == OrderHeld \/ Claim \/ OrderNoted \/ OrderRefused \/ OrderDeep \/ OrderLost \/ OrderEnds
        \/ RecordHeld \/ TakeCancel \/ TakeNote \/ TakeSettle \/ Prove \/ Reach \/ Call \/ Arrive \/ Outcome
        \/ Withhold \/ Lift \/ PayAsked \/ PayCloses \/ OperatorRules \/ OperatorConfirms \/ BuyerAsks \/ PaySent \/ PayTold
Next == \/ Block \/ ReOrg \/ NodeGoes \/ NodeComes \/ BuyerPays \/ BuyerTurns \/ Close \/ SpendVanishes
        \/ Name \/ (\E o \in Outs : Publish(o)) \/ DoubleSpend \/ OtherOrder
        \/ OrderCloses \/ CloseByOperator \/ NextSeller \/ Watch \/ CloserKnown
        \/ Ours \/ \E r \in Replicas : Look(r) \/ Speak(r)
Perms == Permutations(Replicas)
Spec == Init /\ [][Next]_vars
\* Our own steps are taken at last, and operators decide. Others may do nothing for ever.
FairSpec == /\ Spec /\ WF_vars(Block) /\ WF_vars(NodeComes) /\ WF_vars(Watch) /\ WF_vars(Ours)
            /\ WF_vars(os = "unpaid" /\ OrderCloses) /\ WF_vars(os = "failed" /\ Close)
            /\ \A o \in Outs : WF_vars(Maker(o) \in Honest /\ Publish(o))
            /\ \A r \in Replicas : WF_vars(Look(r) \/ Speak(r))
=============================================================================
