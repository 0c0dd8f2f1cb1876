import { createMachine } from 'xstate'

/** A quote is created once, and ends when its order is placed. */
export const quoteMachine = createMachine({
  id: 'quote',
  initial: 'NONE',
  states: {
    NONE: { on: { Quoted: 'QUOTED' } },
    QUOTED: { on: { QuotePlaced: 'PLACED' } },
    PLACED: {},
  },
})
