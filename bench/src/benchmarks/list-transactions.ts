import { schema } from '@penstock/gateway/http/graphql/schema.ts'
import type { GraphqlContext } from '@penstock/gateway/http/graphql/context.ts'
import { createMutex } from '@penstock/kernel/mutex.ts'
import { execute, parse } from 'graphql'
import { measureLatencies } from '../callers.ts'
import { type Benchmark, type BenchmarkSize, compareToReference } from '../harness.ts'
import { type BenchGateway, openBenchGateway } from '../bench-gateway.ts'
import { insertSandbox, SANDBOX } from './sandbox-rows.ts'

const ROUNDS = 15
/** Calls per round. The 99th percentile is the twentieth-slowest of them. */
const CALLS = 2000
const SIZES = { many: 1_000_000, few: 10_000 }
const MAX_RATIO = 1.5

const FIND_MANY = parse(`query ($input: ListTransactionsInput!) { payment { transaction { find_many(input: $input) {
  total_count pagination { limit offset } list { id status direction fee description metadata settled_at created_at
  amount { full_amount } } } } } }`)

/** Compares the first page of an environment with a million transactions with that of ten thousand. */
export const listTransactionsBenchmark: Benchmark = {
  name: 'list-transactions',
  async run({ isQuick }: BenchmarkSize) {
    const sizes = isQuick ? { many: 2000, few: 200 } : SIZES
    const [many, few] = [await openFilledGateway(sizes.many), await openFilledGateway(sizes.few)]
    try {
      const calls = isQuick ? 20 : CALLS
      const createMeasurement = (gateway: BenchGateway, transactions: number) => () =>
        measureLatencies(1, calls, () => listFirstPage(gateway, transactions))
      const [measure, measureFew] = [createMeasurement(many, sizes.many), createMeasurement(few, sizes.few)]
      // Lets V8 compile the code before the measurement.
      await measure()
      await measureFew()
      return await compareToReference({
        rows: [
          { description: 'find_many, first page of 1,000,000 transactions, p50', unit: 'ms' },
          { description: 'find_many, first page of 1,000,000 transactions, p99', unit: 'ms', maxRatio: MAX_RATIO },
        ],
        measure,
        reference: { name: 'the same with 10,000 transactions', measure: measureFew },
        rounds: isQuick ? 1 : ROUNDS,
      })
    } finally {
      await many.close()
      await few.close()
    }
  },
}

const openFilledGateway = (transactions: number): Promise<BenchGateway> =>
  openBenchGateway('transactions', (insert) => insertSandbox(insert, transactions))

async function listFirstPage({ gateway }: BenchGateway, transactions: number): Promise<void> {
  const contextValue: GraphqlContext = {
    gateway,
    authentication: {
      callers: { bearer: { kind: 'token', accountId: SANDBOX.teamId, orderId: null, credential: '' }, service: null },
      refusal: null,
    },
    ip: '127.0.0.1',
    isGet: false,
    runSerially: createMutex(),
    countedUses: new Map(),
    extensions: {},
  }
  const variableValues = { input: { environment_id: SANDBOX.environmentId } }
  const { data, errors } = await execute({ schema, document: FIND_MANY, variableValues, contextValue })
  const text = JSON.stringify(data)
  if (errors || !text.includes(`"total_count":${transactions},`)) throw new Error(`find_many failed: ${text} ${String(errors)}`)
}
