import { channel as channelContract } from '@penstock/contracts/channel.ts'
import { payhash as payhashContract, settlement as contract } from '@penstock/contracts/settlement.ts'
import { aggregate, ask, type Effect, on, type Service, service } from '@penstock/runtime/service.ts'
import type { SettlementCommand } from '@penstock/contracts/settlement.ts'
import { cancel } from './effects/cancel.ts'
import { checkNodeJob } from './effects/check-node.ts'
import { type Custody, custody as newCustody } from './effects/custody.ts'
import { earlyProofJob } from './effects/early-proof.ts'
import { gaugesJob } from './effects/gauges.ts'
import { guardByClockJob, guardJob } from './effects/guard.ts'
import { issue } from './effects/issue.ts'
import { pay } from './effects/pay.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { prove } from './effects/prove.ts'
import { reach } from './effects/reach.ts'
import { reconcileJob } from './effects/reconcile.ts'
import { settle } from './effects/settle.ts'
import { boundToNode } from './effects/own-node.ts'
import { openWatch, type Watch } from './effects/watch.ts'
import { enrich } from './enrich.ts'
import { type Payhash, payhash } from './payhash.ts'
import { DECIDED_FOR_GOOD } from './payout.ts'
import { settlementProcess } from './settlement.process.ts'
import { settlement } from './settlement.ts'
import type { Settlement } from './state.ts'

/** The only service that can take or give back a buyer's money, and the only one that has the keyring. */
export function settlementService(): Service<SettlementPorts> {
  const custody = newCustody()
  const watch = openWatch(custody.slots)
  return service<SettlementPorts>('settlement', {
    aggregates: [
      aggregate({
        contract,
        decider: settlement,
        hashed: { version: 4, of: { 1: withoutNaming, 2: withoutCauses, 3: withoutProof, 4: (state: Settlement) => state } },
        enrich,
        goodUntil,
        process: settlementProcess,
        effects: {
          issue: boundToNode(andWatch(watch, custody)),
          reach: boundToNode(reach),
          prove: boundToNode(prove),
          settle: boundToNode(settle),
          cancel: boundToNode(cancel),
          pay: boundToNode(pay),
        },
        restsMs: { prove: PROOF_RESTS_MS },
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
      on(channelContract, 'PromiseBroken', ({ reason, tipHeight }, { aggregateId: orderId }) => [
        ask(contract, orderId, 'RecordPromiseBroken', { sentence: reason, height: tipHeight }),
      ]),
    ],
    jobs: [
      guardJob(custody),
      guardByClockJob(custody),
      earlyProofJob(custody),
      watch.job,
      checkNodeJob,
      reconcileJob(custody),
      gaugesJob(custody),
    ],
  })
}

/**
 * For so long what the node and the chain have shown counts. A store that was away, or a process that stood still, must
 * not take a payment by a proof from before, nor have a channel funded for which the blocks no longer suffice.
 */
const LOOK_COUNTS_MS = 60_000

/** A proof that is not there yet comes with a block, which has the guard look, or with news that take their time. */
const PROOF_RESTS_MS = 1000

const goodUntil = {
  // A look of unknown age, or one by the clock of another process, is too old.
  Guard: ({ lookedAt }: { readonly lookedAt: number }, preparedAtMs: number): number =>
    lookedAt > 0 && lookedAt <= preparedAtMs ? lookedAt + LOOK_COUNTS_MS : Number.NEGATIVE_INFINITY,
  NoteOutpoint: (_: object, preparedAtMs: number): number => preparedAtMs + LOOK_COUNTS_MS,
}

/** As it was hashed before namings were counted. */
const withoutNaming = ({ hold, loss: _, ...state }: Settlement): unknown => ({
  ...state,
  payout: asOfOld(state.payout),
  hold: { ...asOfOldHold(hold), noted: hold.noted && { ...hold.noted, naming: undefined } },
})

/** As it was hashed before tries to reach the buyer, causes of a withheld payout and the operator's losses were kept. */
const withoutCauses = ({ hold, loss: _, ...state }: Settlement): unknown => ({
  ...state,
  payout: asOfOld(state.payout),
  hold: asOfOldHold(hold),
})

/** As it was hashed before peer proofs were kept, and when a decision for the seller covered whatever came later. */
const withoutProof = ({ hold, payout, ...state }: Settlement): unknown => ({
  ...state,
  hold: { ...hold, peerProof: undefined },
  payout: {
    ...payout,
    settledCauses: payout.isDecidedForSeller ? DECIDED_FOR_GOOD : payout.settledCauses,
    isDecidedForSeller: undefined,
  },
})

const asOfOldHold = (hold: Settlement['hold']): object => ({
  ...hold,
  reachTries: undefined,
  missedAtHeight: undefined,
  peerProof: undefined,
})

const asOfOld = ({ invoices, ...payout }: Settlement['payout']): unknown => ({
  ...payout,
  invoices: Object.fromEntries(Object.entries(invoices).map(([hash, invoice]) => [hash, { ...invoice, creditor: undefined }])),
  creditor: undefined,
  withheld: undefined,
  settledCauses: undefined,
  isDecidedForSeller: undefined,
})

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
