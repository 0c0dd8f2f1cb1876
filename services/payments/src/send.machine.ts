import { firstSendFact, sendStatusRules } from '@penstock/contracts/payments/lifecycle.ts'
import { createMachine } from 'xstate'

/** The contract's table of the facts that may follow in each status, as a state machine. */
export const sendMachine = createMachine({
  id: 'send',
  initial: 'NONE',
  states: {
    NONE: { on: firstSendFact },
    ...Object.fromEntries(Object.entries(sendStatusRules).map(([status, { on }]) => [status, { on }])),
  },
})
