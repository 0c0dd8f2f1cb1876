import { createMachine } from 'xstate'

/** One seller's turn at an order. The events are the order's facts, and `Replaced`: a successor has begun. */
export const attemptMachine = createMachine({
  id: 'attempt',
  initial: 'accepted',
  states: {
    accepted: { on: { OpeningAsked: 'opening', AttemptFailed: 'failed' } },
    opening: { on: { OutpointNamed: 'named', AttemptFailed: 'failed' } },
    named: { on: { OutpointNamed: 'named', FundingReorged: 'named', ChannelOpened: 'opened', AttemptFailed: 'failed' } },
    opened: { on: { OutpointNamed: 'named', FundingReorged: 'named', AttemptFailed: 'failed' } },
    // A late outpoint still wins while nobody else has named one.
    failed: { on: { Replaced: 'replaced', OutpointNamed: 'named' } },
    replaced: { on: { OutpointNamed: 'named' } },
  },
})
