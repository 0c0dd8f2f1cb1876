import { createMachine } from 'xstate'

const outcomeAndGrantFacts = (status: string) => ({ OutcomeRecorded: status, RailsGranted: status })
const anyStatusFacts = (status: string) => ({ ...outcomeAndGrantFacts(status), RailsGrantRevoked: status })

/** Whether a seller's agent sends heartbeats. A grant or a manual order can create a seller before its first attestation. */
export const sellerMachine = createMachine({
  id: 'seller',
  initial: 'NONE',
  states: {
    NONE: { on: { SellerAppeared: 'LIVE', ...outcomeAndGrantFacts('SILENT') } },
    LIVE: { on: { FundsAttested: 'LIVE', SellerFellSilent: 'SILENT', ...anyStatusFacts('LIVE') } },
    SILENT: { on: { SellerAppeared: 'LIVE', ...anyStatusFacts('SILENT') } },
  },
})
