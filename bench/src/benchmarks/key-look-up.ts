import { systemIds } from '@penstock/adapters/system/ids.ts'
import { hashCredential, newCredential, visibleParts } from '@penstock/credentials/credentials.ts'
import type { ServiceKeyTables } from '@penstock/gateway/payments/keys/tables.ts'
import { authenticateService } from '@penstock/gateway/payments/keys/authenticate-service.ts'
import { BENCH_PEPPER, type BenchGateway, type InsertRows, openBenchGateway } from '../bench-gateway.ts'
import { measureLatencies } from '../callers.ts'
import { type Benchmark, type BenchmarkSize, compareToReference } from '../harness.ts'
import { insertTeam, SANDBOX } from './sandbox-rows.ts'

const ROUNDS = 15
/** Look-ups per round. The 99th percentile is the fiftieth-slowest of them. */
const CALLS = 5000
const SIZES = { many: 100_000, few: 100 }
/** A prime step visits the keys in an order that is not theirs. */
const STEP = 7919

const ids = systemIds()

/** Compares the look-up of a service API key among a hundred thousand keys with that among a hundred. */
export const keyLookUpBenchmark: Benchmark = {
  name: 'key-look-up',
  async run({ isQuick }: BenchmarkSize) {
    const sizes = isQuick ? { many: 1000, few: 100 } : SIZES
    const calls = isQuick ? 20 : CALLS
    const [many, few] = [await openKeys(sizes.many), await openKeys(sizes.few)]
    const createMeasurement = (opened: OpenedKeys) => () => measureLatencies(1, calls, () => lookUpNext(opened))
    const [measure, measureFew] = [createMeasurement(many), createMeasurement(few)]
    try {
      // Lets V8 compile the code before the measurement.
      await measure()
      await measureFew()
      return await compareToReference({
        rows: [
          { description: 'key look-up among 100,000 keys, p50', unit: 'ms' },
          { description: 'key look-up among 100,000 keys, p99', unit: 'ms' },
        ],
        measure,
        reference: { name: 'the same among 100 keys', measure: measureFew },
        rounds: isQuick ? 1 : ROUNDS,
      })
    } finally {
      await many.opened.close()
      await few.opened.close()
    }
  },
}

type OpenedKeys = { readonly opened: BenchGateway; readonly keys: readonly string[]; next: number }

async function openKeys(count: number): Promise<OpenedKeys> {
  const keys = Array.from({ length: count }, () => newCredential('psb_', ids))
  const opened = await openBenchGateway('keys', (insert) => insertKeys(insert, keys))
  return { opened, keys, next: 0 }
}

/** Inserts keys that have just been used, so that no look-up stores another use. */
function insertKeys(insert: InsertRows, keys: readonly string[]): void {
  insertTeam(insert)
  const now = Date.now()
  const rows = keys.map((key) => createRow(key, now))
  insert('views', 'gateway_service_keys', rows)
  insert(
    'views',
    'gateway_service_key_uses',
    rows.map(({ id }) => ({ key_id: id, last_used_at: now })),
  )
}

const createRow = (key: string, now: number): ServiceKeyTables['gateway_service_keys'] => ({
  hash: hashCredential(BENCH_PEPPER, key),
  id: ids.uuid(),
  team_id: SANDBOX.teamId,
  environment_id: SANDBOX.environmentId,
  wallet_id: null,
  node_id: null,
  ...visibleParts(key),
  name_record: ids.uuid(),
  permissions: JSON.stringify([{ resource: 'PAYMENTS', level: 'WRITE' }]),
  created_at: now,
  expires_at: null,
  revoked: 0,
})

async function lookUpNext(among: OpenedKeys): Promise<void> {
  const { opened, keys } = among
  const key = keys[(among.next++ * STEP) % keys.length]
  const caller = await authenticateService(opened.gateway, key, '127.0.0.1')
  if (caller?.teamId !== SANDBOX.teamId) throw new Error('a service API key was not found')
}
