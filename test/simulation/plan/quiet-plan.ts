import { drawPlan } from './draw-plan.ts'
import { SELLERS, type NetworkEvent, type SandboxInvoice, type SimulatedPurchase, type SimulationPlan } from './plan.ts'

export const quietPurchase: SimulatedPurchase = {
  atMs: 100,
  buyer: 'buyer',
  api: 'buy',
  options: { private: false, rails_cluster_only: false },
  usdCents: 900,
  afterwards: 'pay',
  afterMs: 50,
  confirmations: 3,
}

/** An invoice that is paid, and a send of it that fails. Each is requested twice. */
export const quietInvoice: SandboxInvoice = {
  atMs: 100,
  behavior: 'complete',
  expirySeconds: 8,
  callDelaysMs: [0, 500],
  sends: [{ behavior: 'fail', callDelaysMs: [0, 500] }],
}

/** A plan with one buyer that pays, and without faults. */
export const quietPlan: SimulationPlan = {
  ...drawPlan(1),
  purchases: [quietPurchase],
  sandboxInvoices: [],
  sellers: drawPlan(1).sellers.map((seller) => ({ ...seller, acceptsAutomatically: true, answer: 'accepts' as const })),
  networkEvents: [],
  operatorActions: [],
  kills: [],
  crashPoints: [],
  triggers: [],
  faults: {},
  skewMs: {},
  rolledOutProcesses: [],
  hasLastSale: false,
}

/** @returns events by which the nodes of these sellers behave so from the start of the workload */
export const sellersBehave = (
  behaviour: Extract<NetworkEvent, { readonly kind: 'behave' }>['behaviour'],
  aliases: readonly string[] = SELLERS,
): readonly NetworkEvent[] => aliases.map((alias) => ({ kind: 'behave', atMs: 0, alias, behaviour }))
