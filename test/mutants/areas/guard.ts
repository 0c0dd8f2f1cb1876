import { createMutants } from '../mutant.ts'

const src = 'services/settlement/src'
const proof = 'packages/channel-proof/src/judge.ts'

export const guardMutants = createMutants('guard', [
  {
    id: 'naming-brings-its-own-terms',
    description:
      'A channel is proven by the terms in the message of its outpoint: a smaller channel than sold settles the payment.',
    file: `${src}/hold/guard.decide.ts`,
    text: `      terms.capacitySat === sold.capacitySat &&\n`,
    replacement: '',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'settles-before-proof',
    description: 'A hold is settled unless the evidence refutes the channel: the buyer pays for a channel that never opens.',
    file: `${src}/hold/guard.decide.ts`,
    text: `if (verdict.verdict === 'valid') {\n    const { confirmations, peer, payoutWithheldUntil, hasUnconfirmedSpend } = verdict`,
    replacement: `if (verdict.verdict !== 'wrong') {\n    const { confirmations, peer, payoutWithheldUntil, hasUnconfirmedSpend } =\n      verdict.verdict === 'valid'\n        ? verdict\n        : ({ confirmations: 0, peer: null, payoutWithheldUntil: 'none', hasUnconfirmedSpend: false } as const)`,
  },
  {
    id: 'reached-buyer-counts-for-nothing',
    description:
      'A rails seller that opened an output to itself is paid although our node reached the buyer without proving a channel.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'if (isChainOnly && reachTries?.reached)',
    replacement: 'if (false as boolean)',
  },
  {
    id: 'untried-counts-as-unreached',
    description: 'A buyer that our node has not tried to reach counts as unreachable: after an outage a false channel is paid.',
    file: `${src}/hold/guard.decide.ts`,
    text: '(reachTries === null || reachTries.height < when.height)',
    replacement: '(false as boolean)',
  },
  {
    id: 'last-try-forgets-the-first',
    description: 'A buyer that our node reached before it went offline counts as unreachable: a false channel is paid.',
    file: `${src}/hold/hold.ts`,
    text: 'data.reached || (hold.reachTries?.reached ?? false)',
    replacement: 'data.reached',
    killers: [`${src}/hold/guard.test.ts`],
  },
  {
    id: 'rails-probe-pays-at-once',
    description: 'A probe that a rails seller can forge pays it at once: the seller sells an output to itself.',
    file: proof,
    text: `terms.isPrivate ? 'none' : 'announcement-or-1008-blocks'`,
    replacement: `terms.rails ? 'none' : 'announcement-or-1008-blocks'`,
  },
  {
    id: 'last-height-a-block-late',
    description:
      'The guard acts one block after the last height: one block less remains before the payer can take the money back.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'const isLast = data.height >= (lastHeightOfHold(hold)',
    replacement: 'const isLast = data.height > (lastHeightOfHold(hold)',
  },
  {
    id: 'no-blocks-for-the-guard',
    description:
      'The guard waits until the expiry height: the hold times out although the channel is open, and the seller is not paid.',
    file: `${src}/hold/heights.ts`,
    text: 'payment.expiryHeight - request.guardBlocks : undefined',
    replacement: 'payment.expiryHeight : undefined',
    killers: [`${src}/hold/guard.test.ts`],
  },
  {
    id: 'highest-expiry-counts',
    description: 'The latest of several HTLC expiries sets the last height: the payer takes the other HTLCs back before it.',
    file: `${src}/hold/hold.decide.ts`,
    text: 'Math.min(...htlcs.map(',
    replacement: 'Math.max(...htlcs.map(',
  },
  {
    id: 'outpoint-noted-too-late',
    description:
      'An outpoint is accepted one block after its funding can still confirm in time: the seller broadcasts, and is not paid.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'if (height > lastBroadcastHeight(',
    replacement: 'if (height > 1 + lastBroadcastHeight(',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'too-few-blocks-left-unsaid',
    description:
      'A refusal does not say that every other outpoint is too late: the order holds the payment until its window ends.',
    file: `${src}/hold/guard.decide.ts`,
    text: `do not publish its funding.',\n      true,\n`,
    replacement: `do not publish its funding.',\n`,
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'last-broadcast-without-least',
    description:
      'A sale with one confirmation gets no spare blocks: the order lets a seller open, and the guard cancels the payment.',
    file: 'packages/contracts/src/order/heights.ts',
    text: 'Math.max(confirmations, holdHeights.leastConfirmationBlocks)',
    replacement: 'confirmations',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'channel-as-old-as-the-hold',
    description: 'A funding from the block of the payment is accepted: a channel that existed before is sold again.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'confirmedAtHeight <= payment.heldAtHeight)',
    replacement: 'confirmedAtHeight < payment.heldAtHeight)',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'older-funding-after-a-block',
    description:
      'A funding of unknown age from the first block after the payment is accepted: a seller waits, and sells it again.',
    file: `${src}/hold/guard.decide.ts`,
    text: ' + BLOCKS_OF_UNKNOWN_AGE)',
    replacement: ')',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'evidence-of-another-outpoint',
    description:
      'Evidence about a replaced outpoint counts for the current one: a good channel settles the payment for a bad one.',
    file: `${src}/hold/guard.decide.ts`,
    text: `  if ((hold.registered?.outpoint ?? null) !== data.outpoint) return accept()\n`,
    replacement: '',
  },
  {
    id: 'wish-for-another-outpoint',
    description:
      'A settlement request for a replaced outpoint counts: the payment is settled before the order has seen the channel.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'hold.settlementWanted !== null && hold.settlementWanted.outpoint === data.outpoint',
    replacement: 'hold.settlementWanted !== null',
  },
  {
    id: 'refused-naming-succeeds-tomorrow',
    description:
      'A refused outpoint is judged again when its message is repeated: the seller was refused, and the hold is bound to it.',
    file: `${src}/hold/guard.decide.ts`,
    text: `  if (hold.refusedSubmissions.includes(submissionKey(registered))) return accept()\n`,
    replacement: '',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'seller-takes-the-fee',
    description: 'A more expensive seller may get the whole price: the platform earns nothing.',
    file: `${src}/hold/guard.decide.ts`,
    text: '> request.amountMsat - request.leastPlatformFeeMsat)',
    replacement: '> request.amountMsat)',
    killers: [`${src}/hold/outpoint.test.ts`],
  },
  {
    id: 'one-confirmation-is-enough',
    description: 'One confirmation settles at any height: a short re-organisation removes the channel after the buyer has paid.',
    file: proof,
    text: 'Math.max(1, lastHeight ? 1 : terms.requiredConfirmations)',
    replacement: '1',
    killers: [`${src}/hold/guard.test.ts`],
  },
  {
    id: 'probe-over-another-channel',
    description:
      'A probe counts although another channel may have carried it: a seller is paid for a channel that it already had.',
    file: proof,
    text: `(evidence.probe === 'reached' || isRecorded) && !evidence.otherChannelsBetween && `,
    replacement: `(evidence.probe === 'reached' || isRecorded) && `,
  },
  {
    id: 'spend-in-the-mempool-unseen',
    description: 'A channel whose close is in the mempool is proven: the buyer pays for a channel that is gone a block later.',
    file: proof,
    text: `  if (hasUnconfirmedSpend && !lastHeight) return { verdict: 'undecided', waitingFor: 'spend' }\n`,
    replacement: '',
    killers: ['packages/channel-proof/src/judge.test.ts', `${src}/hold/guard.test.ts`],
  },
  {
    id: 'spend-in-the-mempool-gives-back',
    description:
      'At the last height an unconfirmed spend cancels the payment: a buyer that publishes one has an open channel for free.',
    file: proof,
    text: 'if (hasUnconfirmedSpend && !lastHeight) return',
    replacement: 'if (hasUnconfirmedSpend) return',
    killers: ['packages/channel-proof/src/judge.test.ts', `${src}/hold/guard.test.ts`],
  },
  {
    id: 'spend-at-the-last-height-paid-at-once',
    description: 'An unconfirmed spend at the last height does not withhold the payout: a seller closes its channel and is paid.',
    file: `${src}/hold/guard.decide.ts`,
    text: ' || hasUnconfirmedSpend',
    replacement: '',
  },
  {
    id: 'spend-blames-the-seller-at-the-last-height',
    description:
      'A confirmed spend counts as a breach by the seller: a buyer that closes its channel ruins the score of its seller.',
    file: proof,
    text: `      verdict: 'spent',\n`,
    replacement: `      verdict: 'wrong',\n      reason: 'attested-push',\n`,
    killers: [`${src}/hold/guard.test.ts`],
  },
  {
    id: 'attestation-of-anybody',
    description: 'An attestation counts although another node signed it: a stranger can make a good channel count as wrong.',
    file: proof,
    text: 'attestationSigner?.toLowerCase() === terms.sellerPubkey.toLowerCase() ? attestation : undefined',
    replacement: 'attestationSigner ? attestation : undefined',
  },
  {
    id: 'last-height-waits-for-evidence',
    description:
      'At the last height the guard still waits for a node that does not answer: the hold stays open until it times out.',
    file: `${src}/effects/guard/guard.ts`,
    text: `if (due !== 'last') throw`,
    replacement: 'throw',
  },
  {
    id: 'last-word-without-the-node',
    description: 'The guard decides finally while our node is away and only the chain answers: a proven channel is not paid.',
    file: `${src}/effects/guard/guard.ts`,
    text: `if (due === 'last' && !node) throw nodeSilentFault()`,
    replacement: '',
  },
  {
    id: 'node-ends-under-the-look',
    description: 'A node that stops during a check of the guard counts as one without evidence: a proven channel is not paid.',
    file: `${src}/effects/guard/guard.ts`,
    text: 'if (!(await readNodeInfo(context.ports))) throw nodeSilentFault()',
    replacement: '',
  },
  {
    id: 'cancels-what-a-new-node-lacks',
    description: 'A channel that a restarted node does not know yet counts as unproven at once: its payment is cancelled.',
    file: `${src}/hold/guard.decide.ts`,
    text: `  if (when.mayDefer) return accept()\n`,
    replacement: '',
  },
  {
    id: 'waits-for-a-new-node-for-ever',
    description:
      'The guard waits for ever for a node that never syncs its graph: the node cancels the payment before the guard decides.',
    file: `${src}/hold/heights.ts`,
    text: `height < payment.expiryHeight - holdHeights.latestDecisionBlocks`,
    replacement: `height >= 0`,
    killers: [`${src}/hold/guard.test.ts`],
  },
  {
    id: 'settles-what-cannot-be-claimed',
    description: 'A payment is settled near or after its expiry: the node shows it as settled, and the payer has taken it back.',
    file: `${src}/hold/heights.ts`,
    text: `height < payment.expiryHeight - holdHeights.claimBlocks`,
    replacement: `height >= 0`,
    killers: [`${src}/hold/guard.test.ts`, `${src}/hold/hold.test.ts`, `${src}/effects/effects.test.ts`],
  },
  {
    id: 'hasty-node-beside-the-last-word',
    description:
      'The market uses a node that cancels payments before the final decision of the guard: a seller loses its payment.',
    file: `${src}/hold/heights.ts`,
    text: ` || holdExpiryDelta >= holdHeights.latestDecisionBlocks`,
    replacement: ``,
    killers: [`${src}/hold/hold.test.ts`],
  },
  {
    id: 'lower-of-two-heights',
    description: 'A chain source that is behind the node sets the height: the guard acts too late.',
    file: `${src}/effects/highest-tip.ts`,
    text: 'chain.value.height >= node.value.height',
    replacement: 'chain.value.height >= 0',
    killers: [`${src}/effects/guard/guard.test.ts`],
  },
  {
    id: 'naming-by-the-chain-alone',
    description: 'A chain source that is behind lets a seller broadcast with too few blocks left: the seller opens for nothing.',
    file: `${src}/enrich.ts`,
    text: `Promise.all([\n      readHighestTip(ports),\n      chain.output(`,
    replacement: 'Promise.all([chain.tip(), chain.output(',
  },
  {
    id: 'opening-by-the-chain-alone',
    description:
      'A chain source that is behind lets a seller be asked to open with too few blocks left: the seller opens for nothing.',
    file: `${src}/effects/connect-to-buyer.ts`,
    text: 'Promise.all([readHighestTip(ports), peers',
    replacement: 'Promise.all([ports.chain.tip(), peers',
    killers: [`${src}/effects/effects.test.ts`],
  },
  {
    id: 'one-broken-hold-stops-all',
    description: 'A hold that cannot be checked ends the round: every later hold is unguarded.',
    file: `${src}/effects/guard/guard.ts`,
    text: `    await act(orderId)\n    return true\n  } catch (error) {`,
    replacement: `    await act(orderId)\n    return true\n  } catch (error) {\n    if (height >= 0) throw error`,
  },
  {
    id: 'proof-of-any-age',
    description:
      'A proof from before an outage of the store still counts: the buyer pays for a channel that was closed meanwhile.',
    file: `${src}/service.ts`,
    text: 'observedAt + OBSERVATION_VALID_MS :',
    replacement: 'observedAt + 1e12 * OBSERVATION_VALID_MS :',
    killers: [`${src}/proof-age.test.ts`],
  },
  {
    id: 'failed-round-looks-well',
    description: 'A round in which the guard failed counts as successful: its alert is silent while holds are unguarded.',
    file: `${src}/effects/guard/guard.ts`,
    text: 'states.size === orders.length && failed === 0',
    replacement: 'failed >= 0',
  },
  {
    id: 'unread-hold-forgotten',
    description: 'A hold whose stream cannot be read drops out of the metrics: the alert on its height becomes silent.',
    file: `${src}/effects/guard/guard-state.ts`,
    text: 'states.get(orderId) ?? snapshot.last?.orders.get(orderId)',
    replacement: 'states.get(orderId)',
    killers: [`${src}/effects/guard/guard.test.ts`],
  },
  {
    id: 'recorded-proof-is-forgotten',
    description: 'A recorded peer proof is ignored: a buyer that goes offline after it has an open channel for free.',
    file: `${src}/hold/guard.decide.ts`,
    text: 'recorded: recordedPeerProof(hold)',
    replacement: 'recorded: null as ReturnType<typeof recordedPeerProof>',
    killers: [`${src}/hold/peer-proof.test.ts`],
  },
  {
    id: 'probe-of-a-blind-node-counts',
    description: 'A node that does not know all channels settles by a probe that could be forged: the buyer pays for no channel.',
    file: `${src}/hold/guard.decide.ts`,
    text: `verdict.peer !== 'graph' && !when.isNodeReady`,
    replacement: 'verdict.peer === null && !when.isNodeReady',
  },
  {
    id: 'early-proof-of-a-node-that-was-restarted',
    description:
      'The node is checked only before a probe: a node that restarted meanwhile may lack channels, and accepts a forgery.',
    file: `${src}/effects/guard/early-proof.ts`,
    text: 'if (!node || !isNodeReady(node) || isOnOtherNode(hold, node.pubkey)) return',
    replacement: 'if (!node) return',
  },
  {
    id: 'proof-of-a-blind-node-is-kept',
    description: 'A node that does not know all channels records a probe that could be forged: a seller is paid for no channel.',
    file: `${src}/hold/peer-proof.ts`,
    text: 'evidence && nodeReady ? toPeerProven',
    replacement: 'evidence ? toPeerProven',
  },
  {
    id: 'early-proof-in-the-guards-name',
    description:
      'The early proof uses the command id of the guard for the same block: the guard decides nothing until the next block.',
    file: `${src}/effects/guard/early-proof.ts`,
    text: '`${tip.hash} early`',
    replacement: 'tip.hash',
  },
])
