import { createMachine } from 'xstate'

/** A quote is made once, and done with when its order has begun. */
export const quoteMachine = createMachine({
  id: 'quote',
  initial: 'NONE',
  states: {
    NONE: { on: { Quoted: 'QUOTED' } },
    QUOTED: { on: { QuotePlaced: 'PLACED' } },
    PLACED: {},
  },
})
