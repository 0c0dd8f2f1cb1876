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
])
