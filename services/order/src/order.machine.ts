import { firstOrderFact, orderStatusRules } from '@penstock/contracts/order/lifecycle.ts'
import { createMachine } from 'xstate'

/** The contract's table of the facts that may follow in each status, as a state machine. */
export const orderMachine = createMachine({
  id: 'order',
  initial: 'NONE',
  states: {
    NONE: { on: firstOrderFact },
    ...Object.fromEntries(Object.entries(orderStatusRules).map(([status, { on }]) => [status, { on }])),
  },
})
