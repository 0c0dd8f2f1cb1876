import { createMachine } from 'xstate'

const known = (status: string) => ({ OutcomeRecorded: status, RailsGranted: status })
const always = (status: string) => ({ ...known(status), RailsGrantRevoked: status })

/** Whether a seller's agent is heard of. A seller may be known (a grant, a sale by hand) before it ever attests. */
export const sellerMachine = createMachine({
  id: 'seller',
  initial: 'NONE',
  states: {
    NONE: { on: { SellerAppeared: 'LIVE', ...known('SILENT') } },
    LIVE: { on: { FundsAttested: 'LIVE', SellerFellSilent: 'SILENT', ...always('LIVE') } },
    SILENT: { on: { SellerAppeared: 'LIVE', ...always('SILENT') } },
  },
})
