import { firstReceiveFact, receiveStatusRules } from '@penstock/contracts/payments/lifecycle.ts'
import { createMachine } from 'xstate'

/** The contract's table of the facts that may follow in each status, as a state machine. */
export const receiveMachine = createMachine({
  id: 'receive',
  initial: 'NONE',
  states: {
    NONE: { on: firstReceiveFact },
    ...Object.fromEntries(Object.entries(receiveStatusRules).map(([status, { on }]) => [status, { on }])),
  },
})
