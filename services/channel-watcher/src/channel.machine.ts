import { createMachine } from 'xstate'

// Transitions of every status between the start of a watch and its lease or end.
const anyStatusTransitions = {
  ChannelInvalid: 'WRONG',
  LeaseStarted: 'LEASED',
  WatchStarted: 'WATCHING',
  WatchStopped: 'STOPPED',
}

/**
 * The watch of one order's channel. WatchStarted occurs again when the order accepts another outpoint. A lease may begin in
 * any status after the start. Settlement observes the chain by itself, and may be ahead of the watch.
 */
export const channelMachine = createMachine({
  id: 'channel',
  initial: 'NONE',
  states: {
    NONE: { on: { WatchStarted: 'WATCHING', WatchStopped: 'STOPPED' } },
    WATCHING: { on: { ...anyStatusTransitions, AttestationKept: 'WATCHING', FundingSeen: 'SEEN', FundingLost: 'LOST' } },
    SEEN: {
      on: {
        ...anyStatusTransitions,
        AttestationKept: 'SEEN',
        FundingConfirmed: 'CONFIRMED',
        FundingMissing: 'MISSING',
        FundingLost: 'LOST',
      },
    },
    MISSING: { on: { ...anyStatusTransitions, AttestationKept: 'MISSING', FundingSeen: 'SEEN', FundingLost: 'LOST' } },
    CONFIRMED: {
      on: {
        ...anyStatusTransitions,
        AttestationKept: 'CONFIRMED',
        ConfirmationsSeen: 'CONFIRMED',
        ChannelProven: 'CONFIRMED',
        ConfirmationsReached: 'REACHED',
        FundingReorged: 'SEEN',
      },
    },
    REACHED: {
      on: {
        ...anyStatusTransitions,
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
        ChannelInvalid: 'LEASED',
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
