import { createMachine } from 'xstate'

// What may come in every status before the end: the word about the channel, and the end of the watch itself.
const always = { ChannelWrong: 'WRONG', LeaseStarted: 'LEASED', WatchStarted: 'WATCHING', WatchStopped: 'STOPPED' }

/**
 * The watch over one order's channel. An order may name another outpoint (WatchStarted), and its money decides in the
 * end: a lease begins wherever the watch stands, since settlement looks at the chain by itself and may be ahead.
 */
export const channelMachine = createMachine({
  id: 'channel',
  initial: 'NONE',
  states: {
    NONE: { on: { WatchStarted: 'WATCHING', WatchStopped: 'STOPPED' } },
    WATCHING: { on: { ...always, AttestationKept: 'WATCHING', FundingSeen: 'SEEN', FundingLost: 'LOST' } },
    SEEN: {
      on: { ...always, AttestationKept: 'SEEN', FundingConfirmed: 'CONFIRMED', FundingMissing: 'MISSING', FundingLost: 'LOST' },
    },
    MISSING: { on: { ...always, AttestationKept: 'MISSING', FundingSeen: 'SEEN', FundingLost: 'LOST' } },
    CONFIRMED: {
      on: {
        ...always,
        AttestationKept: 'CONFIRMED',
        ConfirmationsSeen: 'CONFIRMED',
        ChannelProven: 'CONFIRMED',
        ConfirmationsReached: 'REACHED',
        FundingReorged: 'SEEN',
      },
    },
    REACHED: {
      on: {
        ...always,
        AttestationKept: 'REACHED',
        ConfirmationsSeen: 'REACHED',
        ChannelProven: 'REACHED',
        FundingReorged: 'SEEN',
      },
    },
    LEASED: {
      on: {
        AttestationKept: 'LEASED',
        FundingConfirmed: 'LEASED',
        FundingReorged: 'LEASED',
        ConfirmationsSeen: 'LEASED',
        ChannelProven: 'LEASED',
        ChannelWrong: 'LEASED',
        PromiseBroken: 'LEASED',
        LeaseEnded: 'ENDED',
        WatchStopped: 'STOPPED',
      },
    },
    LOST: { on: { AttestationKept: 'LOST', WatchStarted: 'WATCHING', LeaseStarted: 'LEASED', WatchStopped: 'STOPPED' } },
    WRONG: { on: { AttestationKept: 'WRONG', WatchStarted: 'WATCHING', LeaseStarted: 'LEASED', WatchStopped: 'STOPPED' } },
    STOPPED: { on: { AttestationKept: 'STOPPED', LeaseStarted: 'LEASED' } },
    ENDED: {},
  },
})
