import { createMachine } from 'xstate'

/** One attempt of a search. What comes after its end is answered and changes nothing. */
export const attemptMachine = createMachine({
  id: 'attempt',
  initial: 'NONE',
  states: {
    NONE: { on: { SearchBegun: 'SEARCHING', MatchReleased: 'RELEASED', RereservationRefused: 'NONE' } },
    SEARCHING: { on: { CandidateLost: 'SEARCHING', Matched: 'MATCHED', Unmatched: 'UNMATCHED', MatchReleased: 'RELEASED' } },
    UNMATCHED: { on: { RereservationRefused: 'UNMATCHED', MatchReleased: 'RELEASED' } },
    MATCHED: { on: { Rereserved: 'MATCHED', MatchReleased: 'RELEASED', MatchUsed: 'USED' } },
    RELEASED: {
      on: {
        RereservationAsked: 'ASKING_AGAIN',
        RereservationRefused: 'RELEASED',
        MatchReleased: 'RELEASED',
        // given back while the order was closing, and then the channel proved valid after all
        MatchUsed: 'USED',
      },
    },
    ASKING_AGAIN: {
      on: { Rereserved: 'MATCHED', RereservationRefused: 'RELEASED', MatchReleased: 'RELEASED', MatchUsed: 'USED' },
    },
    USED: {},
  },
})
