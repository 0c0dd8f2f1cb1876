import { createMachine } from 'xstate'

/** One attempt. Its events are facts of the order, except `Replaced`, which means that the next attempt has begun. */
export const attemptMachine = createMachine({
  id: 'attempt',
  initial: 'accepted',
  states: {
    accepted: { on: { ChannelOpenRequested: 'opening', AttemptFailed: 'failed' } },
    opening: { on: { OutpointAccepted: 'named', AttemptFailed: 'failed' } },
    named: {
      on: { OutpointAccepted: 'named', FundingReorgedRecorded: 'named', ChannelOpened: 'opened', AttemptFailed: 'failed' },
    },
    opened: { on: { OutpointAccepted: 'named', FundingReorgedRecorded: 'named', AttemptFailed: 'failed' } },
    // A late outpoint is still accepted while no other attempt has an accepted outpoint.
    failed: { on: { Replaced: 'replaced', OutpointAccepted: 'named' } },
    replaced: { on: { OutpointAccepted: 'named' } },
  },
})
