import { createMutants } from '../mutant.ts'

const src = 'services/channel-watcher/src'

export const watcherMutants = createMutants('watcher', [
  {
    id: 'outpoint-for-two-orders',
    description: 'A second order may claim the same outpoint: one channel is paid for twice.',
    file: `${src}/claim.ts`,
    text: `type: owner ? 'OutpointClaimRefused' : 'OutpointClaimed'`,
    replacement: `type: owner?.orderId === '' ? 'OutpointClaimRefused' : 'OutpointClaimed'`,
  },
  {
    id: 'opened-a-confirmation-early',
    description: 'A channel counts as opened one confirmation too early: the buyer gets less than the market promised.',
    file: `${src}/classify-observation.ts`,
    text: 'confirmations < watch.terms.requiredConfirmations) return null',
    replacement: 'confirmations < watch.terms.requiredConfirmations - 1) return null',
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'reorg-at-the-same-height-unseen',
    description:
      'A transaction that moved to another block of the same height keeps its short channel id: the buyer uses a wrong id.',
    file: `${src}/classify-observation.ts`,
    text: 'if (location?.shortChannelId === channel.location.shortChannelId) return null',
    replacement: 'if (location?.height === channel.location.height) return null',
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'gone-a-block-later',
    description:
      'The watch waits one block too long for a vanished transaction: the buyer waits, and the next seller has less time.',
    file: `${src}/classify-observation.ts`,
    text: 'return tipHeight >= channel.goneBefore',
    replacement: 'return tipHeight > channel.goneBefore',
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'judged-by-another-look',
    description: 'An observation of a replaced outpoint counts for the current one: a good channel is reported as lost.',
    file: `${src}/channel.decide.ts`,
    text: `  if (watchOf(channel)?.outpoint !== observation.outpoint) return accept()\n`,
    replacement: '',
  },
  {
    id: 'lease-counted-from-now',
    description: 'A channel lease counts from its recording instead of its block: the seller is bound for longer than it sold.',
    file: `${src}/channel.decide.ts`,
    text: `const startHeight = 'location' in channel && channel.location ? channel.location.height : height`,
    replacement: 'const startHeight = height',
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'lease-ended-by-the-mempool',
    description: 'An unconfirmed spend ends the channel lease: the seller is blamed for a close that may never confirm.',
    file: `${src}/classify-observation.ts`,
    text: 'if (spend && spend.height !== null) return leaseEnded(spend.height < channel.endsAtHeight, spend.txid)',
    replacement: 'if (spend) return leaseEnded((spend.height ?? tipHeight) < channel.endsAtHeight, spend.txid)',
    killers: [`${src}/observe.test.ts`],
  },
  {
    id: 'window-counted-by-the-watch',
    description:
      'The watch computes the submission window by itself and ignores the window of the order: permit and watch disagree.',
    file: `${src}/channel.decide.ts`,
    text: 'seenBefore: seenBefore ?? chooseSeenBefore(',
    replacement: 'seenBefore: chooseSeenBefore(',
    killers: [`${src}/submission-window.test.ts`],
  },
  {
    id: 'window-begins-anew',
    description:
      'Without a window from the order each outpoint starts a new one: a seller extends the hold by invented outpoints.',
    file: `${src}/channel.decide.ts`,
    text: ' && channel.watch.attempt === attempt ? Math.min(channel.seenBefore, end) : end',
    replacement: ' && channel.watch.attempt === attempt ? Math.max(channel.seenBefore, end) : end',
    killers: [`${src}/submission-window.test.ts`],
  },
  {
    id: 'every-error-is-not-found',
    description: 'Every error of a starting Bitcoin node counts as a missing transaction: a funding is reported as lost.',
    file: 'packages/adapters/src/bitcoind/chain.ts',
    text: 'error instanceof RpcError && error.code === NOT_FOUND',
    replacement: 'error instanceof RpcError',
    killers: ['packages/adapters/src/bitcoind/look-up.test.ts'],
  },
  {
    id: 'late-after-a-reorg',
    description: 'A funding that was confirmed in time counts as late after a re-organisation: an honest seller loses its sale.',
    file: `${src}/classify-observation.ts`,
    text: 'if (!channel.wasConfirmed && tipHeight',
    replacement: 'if (tipHeight',
    killers: [`${src}/reorg-deadlines.test.ts`],
  },
])
