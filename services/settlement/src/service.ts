import { payhash as payhashContract, settlement as contract } from '@penstock/contracts/settlement.ts'
import { aggregate, ask, type Effect, on, type Service, service } from '@penstock/runtime/service.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { cancel } from './effects/cancel.ts'
import { type Custody, guardByClockJob, guardJob } from './effects/guard.ts'
import { issue } from './effects/issue.ts'
import { pay } from './effects/pay.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { prove } from './effects/prove.ts'
import { reach } from './effects/reach.ts'
import { settle } from './effects/settle.ts'
import { slots } from './effects/slots.ts'
import { openWatch, type Watch } from './effects/watch.ts'
import { enrich } from './enrich.ts'
import { type Payhash, payhash } from './payhash.ts'
import { settlementProcess } from './settlement.process.ts'
import { settlement } from './settlement.ts'
import type { Settlement } from './state.ts'

/** The only service that can take or give back a buyer's money, and the only one that has the keyring. */
export function settlementService(): Service<SettlementPorts> {
  const custody: Custody = { slots: slots(), made: new Set() }
  const watch = openWatch(custody.slots)
  return service<SettlementPorts>('settlement', {
    aggregates: [
      aggregate({
        contract,
        decider: settlement,
        hashed: { version: 1, of: { 1: (state: Settlement) => state } },
        enrich,
        process: settlementProcess,
        effects: { issue: andWatch(watch, custody), reach, prove, settle, cancel, pay },
      }),
      aggregate({
        contract: payhashContract,
        decider: payhash,
        hashed: { version: 1, of: { 1: (state: Payhash) => state } },
        correlation: (id, { owner }) => owner ?? id,
      }),
    ],
    reactions: [
      on(payhashContract, 'PayhashClaimed', ({ orderId }, { aggregateId: paymentHash }) => [
        ask(contract, orderId, 'RecordPayhash', { paymentHash, granted: true }),
      ]),
      on(payhashContract, 'PayhashRefused', ({ orderId }, { aggregateId: paymentHash }) => [
        ask(contract, orderId, 'RecordPayhash', { paymentHash, granted: false }),
      ]),
    ],
    jobs: [guardJob(custody), guardByClockJob(custody), watch.job],
  })
}

/** Who made an invoice hears of its payment at once. */
const andWatch =
  (watch: Watch, { made }: Custody): Effect<Settlement, SettlementCommand, SettlementPorts> =>
  async (state, context) => {
    const told = await issue(state, context)
    if (told.type === 'RecordIssued') {
      made.add(context.id)
      watch.begin(context.id)
    }
    return told
  }
