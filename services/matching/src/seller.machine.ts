import { createMachine } from 'xstate'

const always = (status: string) => ({ OutcomeRecorded: status, RailsGranted: status, RailsGrantRevoked: status })

/** Whether a seller's agent is heard of. A seller may be known (a grant, a sale by hand) before it ever attests. */
export const sellerMachine = createMachine({
  id: 'seller',
  initial: 'NONE',
  states: {
    NONE: { on: { SellerAppeared: 'LIVE', ...always('SILENT') } },
    LIVE: { on: { FundsAttested: 'LIVE', SellerFellSilent: 'SILENT', ...always('LIVE') } },
    SILENT: { on: { SellerAppeared: 'LIVE', ...always('SILENT') } },
  },
})
