import { mutantsOf } from '../mutant.ts'

const src = 'services/channel-watcher/src'

export const watcher = mutantsOf('watcher', [
  {
    id: 'outpoint-for-two-orders',
    wrong: 'A second order may claim the same outpoint: one channel is paid for twice.',
    file: `${src}/claim.ts`,
    text: `type: owner ? 'OutpointClaimRefused' : 'OutpointClaimed'`,
    instead: `type: owner?.orderId === '' ? 'OutpointClaimRefused' : 'OutpointClaimed'`,
    killers: [`${src}/claim.test.ts`],
  },
  {
    id: 'opened-a-confirmation-early',
    wrong: 'A channel counts as opened one confirmation too early: what was promised to the buyer is not kept.',
    file: `${src}/look.ts`,
    text: `confirmations < watch.terms.requiredConfirmations) return null`,
    instead: `confirmations < watch.terms.requiredConfirmations - 1) return null`,
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'reorg-at-the-same-height-unseen',
    wrong:
      'A transaction that moved to another block of the same height keeps its old channel id: the buyer looks for a channel that is not there.',
    file: `${src}/look.ts`,
    text: `if (place?.shortChannelId === channel.place.shortChannelId) return null`,
    instead: `if (place?.height === channel.place.height) return null`,
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'gone-a-block-later',
    wrong:
      'A transaction that vanished is waited for a block longer than promised: the buyer waits, and a successor has less time.',
    file: `${src}/look.ts`,
    text: `return tipHeight >= channel.goneBefore`,
    instead: `return tipHeight > channel.goneBefore`,
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'judged-by-another-look',
    wrong: 'What was seen of the outpoint that was named before counts for the present one: a good channel is called lost.',
    file: `${src}/channel.decide.ts`,
    text: `  if (watchOf(channel)?.outpoint !== look.outpoint) return accept()\n`,
    instead: ``,
    killers: [`${src}/channel.test.ts`],
  },
  {
    id: 'lease-counted-from-now',
    wrong: 'A lease is counted from when it was noted, not from its block: the seller is bound for longer than it sold.',
    file: `${src}/channel.decide.ts`,
    text: `const begun = 'place' in channel && channel.place ? channel.place.height : height`,
    instead: `const begun = height`,
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'lease-ended-by-the-mempool',
    wrong: 'A spend that no block has yet ends the lease: the seller is blamed for a closing that may never come.',
    file: `${src}/look.ts`,
    text: `if (spend && spend.height !== null) return ended(spend.height < channel.endsAtHeight, spend.txid)`,
    instead: `if (spend) return ended((spend.height ?? tipHeight) < channel.endsAtHeight, spend.txid)`,
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'window-counted-by-the-watch',
    wrong: 'The watch counts from its own begin and not as the order tells it: the permit and the watch disagree.',
    file: `${src}/channel.decide.ts`,
    text: `seenBefore: seenBefore ?? ownWindow(`,
    instead: `seenBefore: ownWindow(`,
    killers: [`${src}/window.test.ts`],
  },
  {
    id: 'window-begins-anew',
    wrong: 'Without the word of the order each naming begins a window of its own: invented outpoints keep the payment.',
    file: `${src}/channel.decide.ts`,
    text: ` && channel.watch.attempt === attempt ? Math.min(channel.seenBefore, end) : end`,
    instead: ` && channel.watch.attempt === attempt ? Math.max(channel.seenBefore, end) : end`,
    killers: [`${src}/window.test.ts`],
  },
  {
    id: 'every-error-is-not-found',
    wrong: 'A bitcoin node that starts is taken for one that has no such transaction: a funding is called lost.',
    file: 'packages/adapters/src/bitcoind/chain.ts',
    text: `error instanceof RpcRefusal && error.code === NOT_FOUND`,
    instead: `error instanceof RpcRefusal`,
    killers: ['packages/adapters/src/bitcoind/look-up.test.ts'],
  },
  {
    id: 'late-after-a-reorg',
    wrong: 'A funding that was confirmed in time is late after a re-organisation: an honest seller loses its sale.',
    file: `${src}/look.ts`,
    text: `if (!channel.wasConfirmed && tipHeight`,
    instead: `if (tipHeight`,
    killers: [`${src}/in-time.test.ts`],
  },
])
