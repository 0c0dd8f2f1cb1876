import { mutantsOf } from '../mutant.ts'

const src = 'services/settlement/src'
const proof = 'packages/bitcoin/src/channel-proof.ts'

export const guard = mutantsOf('guard', [
  {
    id: 'settles-before-proof',
    wrong: 'A hold is settled as long as nothing speaks against the channel: the buyer pays for one that never comes.',
    file: `${src}/guard.decide.ts`,
    text: `if (verdict.verdict === 'valid') {
    const { confirmations, peer, payoutWithheldUntil } = verdict`,
    instead: `if (verdict.verdict !== 'wrong') {
    const { confirmations, peer, payoutWithheldUntil } =
      verdict.verdict === 'valid' ? verdict : ({ confirmations: 0, peer: null, payoutWithheldUntil: 'none' } as const)`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'last-height-a-block-late',
    wrong: 'The guard acts one block after the last height: it has one block less before the payer can take the money back.',
    file: `${src}/guard.decide.ts`,
    text: `const isLast = data.height >= (lastHeightOf(hold)`,
    instead: `const isLast = data.height > (lastHeightOf(hold)`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'no-blocks-for-the-guard',
    wrong:
      'The guard waits up to the expiry itself: a channel is open, the hold times out, and the seller goes without its money.',
    file: `${src}/heights.ts`,
    text: `payment.expiryHeight - request.guardBlocks : undefined`,
    instead: `payment.expiryHeight : undefined`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'highest-expiry-counts',
    wrong: 'Of several HTLCs the one that lives longest sets the last height: the payer takes the others back before.',
    file: `${src}/hold.decide.ts`,
    text: `Math.min(...htlcs.map(`,
    instead: `Math.max(...htlcs.map(`,
    killers: [`${src}/hold.test.ts`],
  },
  {
    id: 'outpoint-noted-too-late',
    wrong: 'An outpoint is taken one block after the last at which it can still confirm: the seller broadcasts, and is not paid.',
    file: `${src}/guard.decide.ts`,
    text: `if (height > lastBroadcastHeight(`,
    instead: `if (height > 1 + lastBroadcastHeight(`,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'too-few-blocks-left-unsaid',
    wrong: 'A naming is refused without the word that any other would be too: the order holds the payment till its window ends.',
    file: `${src}/guard.decide.ts`,
    text: `do not publish its funding.', true)`,
    instead: `do not publish its funding.')`,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'last-broadcast-without-least',
    wrong:
      'A sale with one confirmation leaves no blocks to spare: what the order lets a seller open, the guard then gives back.',
    file: `${src}/guard.decide.ts`,
    text: `Math.max(requiredConfirmations, LEAST_CONFIRMATIONS)`,
    instead: `requiredConfirmations`,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'channel-as-old-as-the-hold',
    wrong: 'A transaction from the very block of the payment may be named: a channel that was there before is sold once more.',
    file: `${src}/guard.decide.ts`,
    text: `confirmedAtHeight <= payment.heldAtHeight`,
    instead: `confirmedAtHeight < payment.heldAtHeight`,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'evidence-of-another-outpoint',
    wrong: 'Evidence about the outpoint that was named before is weighed for the present one: a good channel settles a bad one.',
    file: `${src}/guard.decide.ts`,
    text: `  if ((hold.noted?.outpoint ?? null) !== data.outpoint) return accept()\n`,
    instead: ``,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'wish-for-another-outpoint',
    wrong: 'The wish to settle for an outpoint that was replaced counts: the money moves before the order has seen the channel.',
    file: `${src}/guard.decide.ts`,
    text: `hold.settleAsked !== null && hold.settleAsked.outpoint === data.outpoint`,
    instead: `hold.settleAsked !== null`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'refused-naming-succeeds-tomorrow',
    wrong:
      'A naming that was refused is judged again when the message is repeated: the seller was told no, and the hold is bound to it.',
    file: `${src}/guard.decide.ts`,
    text: `  if (hold.refusedNamings.includes(namingOf(noted))) return accept()\n`,
    instead: ``,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'seller-takes-the-fee',
    wrong: 'A dearer seller may take the whole price: the platform sells for nothing.',
    file: `${src}/guard.decide.ts`,
    text: `> request.amountMsat - request.leastPlatformFeeMsat)`,
    instead: `> request.amountMsat)`,
    killers: [`${src}/outpoint.test.ts`],
  },
  {
    id: 'one-confirmation-is-enough',
    wrong: 'One confirmation settles at any height: a small re-organisation takes the channel away, and the buyer has paid.',
    file: proof,
    text: `Math.max(1, lastHeight ? 1 : terms.requiredConfirmations)`,
    instead: `1`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'probe-over-another-channel',
    wrong: 'A probe counts although another channel could have carried it: a seller is paid for a channel that it already had.',
    file: proof,
    text: `evidence.probe === 'reached' && !evidence.otherChannelsBetween && `,
    instead: `evidence.probe === 'reached' && `,
    killers: ['packages/bitcoin/src/channel-proof.test.ts'],
  },
  {
    id: 'spend-in-the-mempool-unseen',
    wrong: 'A channel whose closing waits in the mempool is proven: the buyer pays for one that is gone a block later.',
    file: proof,
    text: `  if (output.spentBy) return { verdict: 'undecided', waitingFor: 'spend' }\n`,
    instead: ``,
    killers: ['packages/bitcoin/src/channel-proof.test.ts', `${src}/guard.test.ts`],
  },
  {
    id: 'attestation-of-anybody',
    wrong: "What anybody signed counts as the seller's word: a stranger could have a good channel called wrong.",
    file: proof,
    text: `attestationSigner?.toLowerCase() === terms.sellerPubkey.toLowerCase() ? attestation : undefined`,
    instead: `attestationSigner ? attestation : undefined`,
    killers: ['packages/bitcoin/src/channel-proof.test.ts'],
  },
  {
    id: 'last-height-waits-for-evidence',
    wrong: 'Where the node tells nothing the guard goes on waiting at the last height: the hold stays open up to its time-out.',
    file: `${src}/effects/guard.ts`,
    text: `if (wanted !== 'last') throw`,
    instead: `throw`,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'last-word-without-the-node',
    wrong:
      'The last word is said while our own node is away and only blocks are heard of: when it is back, a proven channel is given away.',
    file: `${src}/effects/guard.ts`,
    text: `if (wanted === 'last' && !node) throw silent()`,
    instead: ``,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'node-ends-under-the-look',
    wrong: 'A node that ends while the guard looks is taken for one that shows nothing: a proven channel is given away.',
    file: `${src}/effects/guard.ts`,
    text: `if (!(await nodeNow(context.ports))) throw silent()`,
    instead: ``,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'cancels-what-a-new-node-lacks',
    wrong: 'A node that came back a moment ago has heard of no channel: what it lacks counts as unproven at once.',
    file: `${src}/guard.decide.ts`,
    text: `  if (when.mayWait) return accept()\n`,
    instead: ``,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'waits-for-a-new-node-for-ever',
    wrong:
      'A node that never hears of its graph is waited for without an end: it gives the payment back before the guard speaks.',
    file: `${src}/heights.ts`,
    text: `height < payment.expiryHeight - LAST_WORD_BLOCKS`,
    instead: `height >= 0`,
    killers: [`${src}/guard.test.ts`],
  },
  {
    id: 'settles-what-cannot-be-claimed',
    wrong: 'A payment is taken when its end is near or past: the node shows it settled, and the payer has taken it back.',
    file: `${src}/heights.ts`,
    text: `height < payment.expiryHeight - CLAIM_BLOCKS`,
    instead: `height >= 0`,
    killers: [`${src}/guard.test.ts`, `${src}/hold.test.ts`, `${src}/effects/effects.test.ts`],
  },
  {
    id: 'hasty-node-beside-the-last-word',
    wrong: 'A node is trusted with payments that it gives back before the guard has said its last word.',
    file: `${src}/heights.ts`,
    text: ` || holdExpiryDelta > LAST_WORD_BLOCKS`,
    instead: ``,
    killers: [`${src}/hold.test.ts`],
  },
  {
    id: 'lower-of-two-heights',
    wrong: 'A chain source that is behind the node sets the height: the guard comes too late by as many blocks.',
    file: `${src}/effects/guard.ts`,
    text: `chain.value.height >= node.value.height`,
    instead: `chain.value.height >= 0`,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'one-broken-hold-stops-all',
    wrong: 'A hold that cannot be looked at ends the round: every payment after it is unguarded.',
    file: `${src}/effects/guard.ts`,
    text: `    await act(orderId)
    return true
  } catch (error) {`,
    instead: `    await act(orderId)
    return true
  } catch (error) {
    if (height >= 0) throw error`,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'proof-of-any-age',
    wrong: 'A proof from before the store was away still counts: the buyer pays for a channel that was closed meanwhile.',
    file: `${src}/service.ts`,
    text: `lookedAt + LOOK_COUNTS_MS,`,
    instead: `lookedAt + 1e12 * LOOK_COUNTS_MS,`,
    killers: [`${src}/proof-age.test.ts`],
  },
  {
    id: 'failed-round-looks-well',
    wrong: 'A round in which the guard could do nothing counts as one: the alert on it is silent while holds are unguarded.',
    file: `${src}/effects/guard.ts`,
    text: `seen.size === orders.length && failed === 0`,
    instead: `failed >= 0`,
    killers: [`${src}/effects/guard.test.ts`],
  },
  {
    id: 'unread-hold-forgotten',
    wrong: 'A hold whose stream cannot be read drops out of the figures: the alert on its height goes quiet.',
    file: `${src}/effects/custody.ts`,
    text: `seen.get(orderId) ?? sight.last?.orders.get(orderId)`,
    instead: `seen.get(orderId)`,
    killers: [`${src}/effects/guard.test.ts`],
  },
])
