import { createMachine } from 'xstate'

/** A quote is created once. Earlier versions recorded that its order was placed. */
export const quoteMachine = createMachine({
  id: 'quote',
  initial: 'NONE',
  states: {
    NONE: { on: { Quoted: 'QUOTED' } },
    QUOTED: { on: { QuotePlaced: 'PLACED' } },
    PLACED: {},
  },
})
