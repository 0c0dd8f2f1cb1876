import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { scratchSimnet } from '@penstock/adapters/simnet/scratch.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { contractOf } from '@penstock/contracts/all.ts'
import { settlement as contract, type SettlementFact } from '@penstock/contracts/settlement.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { factOf, metaOf } from '@penstock/runtime/event-codec.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { ask } from '@penstock/runtime/service.ts'
import { memoryWorld } from '@penstock/testkit/memory-world.ts'
import { until } from '@penstock/testkit/until.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { SELLER_MSAT, terms } from './samples.contract.ts'
import { settlementService } from './service.ts'

export const ORDER = '018f3c1e-0000-7000-8000-000000000001'
export const OTHER = '018f3c1e-0000-7000-8000-000000000002'

type FactOf<T extends SettlementFact['type']> = Extract<SettlementFact, { type: T }>
type Commands = typeof contract.commands

/**
 * The service on a memory platform, over a simulated network of its own; blocks come when told.
 * @param hurried the clock by which the service waits
 */
export async function openMarket(
  env: Record<string, string> = {},
  change: (ports: SettlementPorts) => SettlementPorts = (ports) => ports,
  hurried: (clock: Clock) => Clock = (clock) => clock,
) {
  const scratch = scratchSimnet()
  const folder = mkdtempSync(join(tmpdir(), 'settlement-'))
  const world = await memoryWorld(env)
  const simnet = scratch.simnet()
  const { control } = simnet
  const ports = change({
    lightning: simnet.lightning('market'),
    chain: simnet.chain(),
    keyring: fileKeyring(folder, { network: 'regtest', environment: 'test' }),
    network: 'regtest',
  })
  const clock = hurried(world.platform.clock)
  const start = () => run([bind(settlementService(), ports)], { ...world.platform, clock })
  let running = await start()
  const { send } = await world.caller('settlement')
  let commands = 0

  const nodeOf = (alias: string) => control.nodes().find((node) => node.alias === alias) ?? { pubkey: '', uri: '' }
  const pubkey = (alias: string): string => nodeOf(alias).pubkey
  const facts = async (orderId = ORDER): Promise<readonly SettlementFact[]> =>
    (await world.store.read(`settlement-${orderId}`)).map(
      (event) => factOf(contractOf('settlement'), event, metaOf(event).v) as SettlementFact,
    ) // the stream's own facts
  /** The first fact of a type, once it is there. */
  const fact = <T extends SettlementFact['type']>(type: T, orderId = ORDER): Promise<FactOf<T>> =>
    until(type, async () => (await facts(orderId)).find((one): one is FactOf<T> => one.type === type))
  const tell = <T extends keyof Commands>(
    type: T,
    data: Parameters<typeof ask<typeof contract, T>>[3],
    orderId = ORDER,
  ): Promise<void> => send(ask(contract, orderId, type, data), `00000000-0000-4000-8000-${`${++commands}`.padStart(12, '0')}`)

  return {
    world,
    control,
    ports,
    pubkey,
    facts,
    fact,
    tell,
    send,
    stop: () => running.close(),
    start: async () => void (running = await start()),
    async close() {
      await running.close()
      await scratch.drop()
      rmSync(folder, { recursive: true })
    },
    issue: (orderId = ORDER, terms_: object = {}) =>
      tell(
        'IssueHold',
        {
          ...terms,
          cltvDelta: 144,
          destination: { pubkey: pubkey('buyer'), sockets: [nodeOf('buyer').uri.split('@')[1] ?? ''] },
          ...terms_,
        },
        orderId,
      ),
    async held(orderId = ORDER, amountMsat?: bigint): Promise<FactOf<'HoldHeld'>> {
      const { data } = await fact('HoldIssued', orderId)
      control.pay('buyer', data.invoice, amountMsat === undefined ? {} : { amountMsat })
      return fact('HoldHeld', orderId)
    },
    /** A seller opens the channel, and the order has it noted. */
    async noted(
      { data: { heldAtHeight } }: FactOf<'HoldHeld'>,
      change_: { readonly sats?: bigint; readonly rails?: boolean; readonly orderId?: string } = {},
    ): Promise<string> {
      const { sats = 1_000_000n, rails = false, orderId = ORDER } = change_
      const { outpoint } = control.open('seller-ada', pubkey('buyer'), sats)
      const agreed = {
        sellerPubkey: pubkey('seller-ada'),
        buyerPubkey: pubkey('buyer'),
        capacitySat: '1000000',
        isPrivate: false,
        rails,
        heldAtHeight,
        requiredConfirmations: 3,
      }
      await tell(
        'NoteOutpoint',
        { attempt: 1, outpoint, terms: agreed, sellerAmountMsat: `${SELLER_MSAT}`, attestation: null, naming: 1 },
        orderId,
      )
      await fact('OutpointNoted', orderId)
      return outpoint
    },
    async payoutInvoice(
      orderId = ORDER,
      invoice = control.invoice('seller-ada', SELLER_MSAT / 1000n, 400_000),
    ): Promise<typeof invoice> {
      const { invoice: request, payment_hash: paymentHash } = invoice
      await tell(
        'GivePayoutInvoice',
        {
          request,
          paymentHash,
          payee: pubkey('seller-ada'),
          amountMsat: `${SELLER_MSAT}`,
          expiresAt: decodePaymentRequest(request)?.expiresAt ?? 0,
        },
        orderId,
      )
      return invoice
    },
    /** The buyer's payment, as the buyer's node shows it. */
    buyersPayment: async (orderId = ORDER) => control.payment((await fact('HoldRequested', orderId)).data.paymentHash)?.state,
  }
}
export type Market = Awaited<ReturnType<typeof openMarket>>
