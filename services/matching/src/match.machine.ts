import { createMachine } from 'xstate'

/** One attempt of a match. */
export const matchMachine = createMachine({
  id: 'attempt',
  initial: 'NONE',
  states: {
    NONE: { on: { SearchBegun: 'SEARCHING', MatchReleased: 'RELEASED', ReservationRenewalRefused: 'NONE' } },
    SEARCHING: { on: { CandidateLost: 'SEARCHING', Matched: 'MATCHED', Unmatched: 'UNMATCHED', MatchReleased: 'RELEASED' } },
    UNMATCHED: { on: { ReservationRenewalRefused: 'UNMATCHED', MatchReleased: 'RELEASED' } },
    MATCHED: {
      on: { ReservationRenewed: 'MATCHED', MatchFundingRecorded: 'MATCHED', MatchReleased: 'RELEASED', MatchUsed: 'USED' },
    },
    RELEASED: {
      on: {
        ReservationRenewalRequested: 'ASKING_AGAIN',
        ReservationRenewalRefused: 'RELEASED',
        MatchReleased: 'RELEASED',
        // The order was closing and released the match, and then the channel proved valid.
        MatchUsed: 'USED',
      },
    },
    ASKING_AGAIN: {
      on: { ReservationRenewed: 'MATCHED', ReservationRenewalRefused: 'RELEASED', MatchReleased: 'RELEASED', MatchUsed: 'USED' },
    },
    USED: {},
  },
})
