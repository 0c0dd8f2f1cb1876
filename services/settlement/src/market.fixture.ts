import { command, type CommandBody } from '@penstock/kernel/process.ts'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openTemporaryNetwork } from '@penstock/adapters/simnet/temporary-network.ts'
import { deriveDecisionKey, proveDecision } from '@penstock/config/decision-proof.ts'
import { readKeyFile } from '@penstock/adapters/system/key-file.ts'
import { fileKeyring } from '@penstock/adapters/system/keyring.ts'
import { decodePaymentRequest } from '@penstock/bitcoin/bolt11.ts'
import { contractOf } from '@penstock/contracts/contracts.ts'
import type { SettlementCommand, SettlementFact, SettlementTarget } from '@penstock/contracts/settlement.ts'
import type { Clock } from '@penstock/ports/clock.ts'
import { readFact, readMeta } from '@penstock/runtime/commands/event-codec.ts'
import { bind, run } from '@penstock/runtime/run.ts'
import { createMemoryPlatform } from '@penstock/testkit/memory-platform.ts'
import { waitUntil } from '@penstock/testkit/wait-until.ts'
import type { SettlementPorts } from './effects/ports.ts'
import { SELLER_MSAT, sampleHoldTerms } from './samples.fixture.ts'
import { settlementService } from './service.ts'

export const FIRST_ORDER = '018f3c1e-0000-7000-8000-000000000001'
export const SECOND_ORDER = '018f3c1e-0000-7000-8000-000000000002'

/** The guard's pause between two tries at the last height. */
export const GUARD_PAUSE_MS = 3000

/** Shortens the sleeps of exactly `longMs`, such as one pause of the service. */
export const shortenSleep =
  (longMs: number) =>
  (clock: Clock): Clock => ({ ...clock, sleep: (ms, signal) => clock.sleep(ms === longMs ? 10 : ms, signal) })

type FactOf<T extends SettlementFact['type']> = Extract<SettlementFact, { type: T }>
type CommandType = SettlementCommand['type']
type CommandData<T extends CommandType> = Extract<SettlementCommand, { type: T }>['data']

/**
 * Runs the service on a memory platform with its own simulated network, which mines blocks only on request.
 * @param adaptClock changes the clock by which the service waits
 */
export async function openSettlementMarket(
  env: Record<string, string> = {},
  change: (ports: SettlementPorts) => SettlementPorts = (ports) => ports,
  adaptClock: (clock: Clock) => Clock = (clock) => clock,
) {
  const temporaryNetwork = openTemporaryNetwork()
  const folder = mkdtempSync(join(tmpdir(), 'settlement-'))
  const world = await createMemoryPlatform(env)
  const simnet = temporaryNetwork.simnet()
  const { control } = simnet
  const ports = change({
    lightning: simnet.lightning('market'),
    chain: simnet.chain(),
    keyring: fileKeyring(folder, { network: 'regtest', environment: 'test' }),
    network: 'regtest',
  })
  const clock = adaptClock(world.platform.clock)
  const start = () => run([bind(settlementService(), ports)], { ...world.platform, clock })
  let running = await start()
  const { send } = await world.caller('settlement')
  let commands = 0

  const nodeOf = (alias: string) => control.nodes().find((node) => node.alias === alias) ?? { pubkey: '', uri: '' }
  const pubkey = (alias: string): string => nodeOf(alias).pubkey
  const facts = async (orderId = FIRST_ORDER): Promise<readonly SettlementFact[]> =>
    (await world.store.read(`settlement-${orderId}`)).map(
      (event) => readFact(contractOf('settlement'), event, readMeta(event).v) as SettlementFact,
    ) // the stream's own facts
  /** Waits for the first fact of a type. */
  const fact = <T extends SettlementFact['type']>(type: T, orderId = FIRST_ORDER): Promise<FactOf<T>> =>
    waitUntil(type, async () => (await facts(orderId)).find((one): one is FactOf<T> => one.type === type))
  const tell = <T extends CommandType>(type: T, data: CommandData<T>, orderId = FIRST_ORDER): Promise<void> =>
    send(
      command<SettlementTarget>('settlement', orderId, { type, data } as CommandBody<SettlementCommand>),
      `00000000-0000-4000-8000-${`${++commands}`.padStart(12, '0')}`,
    )

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
      await temporaryNetwork.drop()
      rmSync(folder, { recursive: true })
    },
    issueHold: (orderId = FIRST_ORDER, terms_: object = {}) =>
      tell(
        'IssueHold',
        {
          ...sampleHoldTerms,
          cltvDelta: 144,
          destination: { pubkey: pubkey('buyer'), sockets: [nodeOf('buyer').uri.split('@')[1] ?? ''] },
          ...(sampleHoldTerms.sold && { sold: { ...sampleHoldTerms.sold, buyerPubkey: pubkey('buyer') } }),
          ...terms_,
        },
        orderId,
      ),
    async payHold(orderId = FIRST_ORDER, amountMsat?: bigint): Promise<FactOf<'HoldHeld'>> {
      const { data } = await fact('HoldIssued', orderId)
      control.pay('buyer', data.invoice, amountMsat === undefined ? {} : { amountMsat })
      return fact('HoldHeld', orderId)
    },
    /** A seller opens the channel, and its outpoint is recorded. */
    async openAndRegister(
      { data: { heldAtHeight } }: FactOf<'HoldHeld'>,
      change_: { readonly sats?: bigint; readonly rails?: boolean; readonly orderId?: string } = {},
    ): Promise<string> {
      const { sats = 1_000_000n, rails = false, orderId = FIRST_ORDER } = change_
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
        'RegisterOutpoint',
        { attempt: 1, outpoint, terms: agreed, sellerAmountMsat: `${SELLER_MSAT}`, attestation: null, outpointNumber: 1 },
        orderId,
      )
      await fact('OutpointRegistered', orderId)
      return outpoint
    },
    async submitPayoutInvoice(
      orderId = FIRST_ORDER,
      invoice = control.invoice('seller-ada', SELLER_MSAT / 1000n, 400_000),
    ): Promise<typeof invoice> {
      const { invoice: request, payment_hash: paymentHash } = invoice
      await tell(
        'SubmitPayoutInvoice',
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
    /** An operator decides, with a proof by the market's keyring. */
    decidePayout(decision: { to: 'seller' | 'buyer' | 'nobody'; by: string; reason: string }, orderId = FIRST_ORDER) {
      const keyring = readKeyFile(join(folder, 'keyring.json'), 'is no keyring')
      const key = deriveDecisionKey(keyring?.keys[keyring.current] ?? '')
      return tell('DecidePayout', { ...decision, proof: proveDecision(key, { orderId, ...decision }) }, orderId)
    },
    /** State of the buyer's payment at the buyer's node. */
    buyersPayment: async (orderId = FIRST_ORDER) =>
      control.payment((await fact('HoldRequested', orderId)).data.paymentHash)?.state,
  }
}
export type SettlementMarket = Awaited<ReturnType<typeof openSettlementMarket>>
