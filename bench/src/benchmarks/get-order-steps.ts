import { schema, printSchemaText } from '@penstock/gateway/http/graphql/schema.ts'
import { buildSchema, execute, parse, validate } from 'graphql'
import { measureDurations, openJsonClient } from '../callers.ts'
import { computeQuantile, type BenchmarkRow } from '../harness.ts'

/** A query for the sold order, and the market's whole answer. */
type SoldOrder = { readonly query: string; readonly variables: object; readonly answer: string }

export type StepEndpoints = {
  readonly url: string
  readonly bearer: Readonly<Record<string, string>>
  /** URL of bare node:http that answers with the same number of bytes. */
  readonly bare: string
  readonly sale: SoldOrder
}

const TYPENAME_BODY = JSON.stringify({ query: '{ __typename }' })
const IN_PROCESS_RUNS = 500

/**
 * Splits the time of one call into steps, in milliseconds. Each kind of request needs one step more than the previous kind, so
 * the difference of their medians is the time of that step. This process itself times the execution of the query and the
 * serialisation of the answer. The remaining time is the read of the order. `calls`: requests of each kind per round.
 */
export async function measureGetOrderSteps(
  endpoints: StepEndpoints,
  calls: number,
  rounds: number,
): Promise<readonly BenchmarkRow[]> {
  const clients = openStepClients(endpoints)
  const inProcess = createInProcessSteps(endpoints.sale)
  const samples: StepSample[] = []
  for (let round = -1; round < rounds; round++) {
    const medians: number[] = []
    for (const { call } of clients) medians.push(computeQuantile(await measureDurations(1, calls, call), 0.5))
    const sample = { medians, inProcess: inProcess.map(measureMeanMs) }
    // The first round only lets V8 compile the code.
    if (round >= 0) samples.push(sample)
  }
  clients.forEach(({ close }) => close())
  return toRows(samples)
}

type StepSample = { readonly medians: readonly number[]; readonly inProcess: readonly number[] }

function openStepClients({ url, bearer, bare, sale }: StepEndpoints) {
  const { query, variables } = sale
  let newTexts = 0
  const whole = JSON.stringify({ query, variables })
  const requests = [
    { to: bare, headers: {}, body: () => whole },
    { to: url, headers: {}, body: () => '[]' },
    { to: url, headers: {}, body: () => TYPENAME_BODY },
    { to: url, headers: bearer, body: () => TYPENAME_BODY },
    { to: url, headers: bearer, body: () => whole },
    // The counter makes every text new, so the server parses and validates each one. The texts above are in its cache.
    { to: url, headers: bearer, body: () => JSON.stringify({ query: `${query}\n# ${newTexts++}`, variables }) },
  ]
  return requests.map(({ to, headers, body }) => {
    const { call, close } = openJsonClient(to, 1, headers)
    return { call: () => call(body()), close }
  })
}

/** Functions that parse, validate, execute (with the market's answer as the root value) and serialise. */
function createInProcessSteps({ query, variables, answer }: SoldOrder): readonly (() => unknown)[] {
  const document = parse(query)
  const resolved = buildSchema(printSchemaText())
  const parsedAnswer = JSON.parse(answer) as { data: object } // the market answered a valid query
  const executeQuery = () =>
    execute({ schema: resolved, document, rootValue: parsedAnswer.data, variableValues: { ...variables } })
  const executed = executeQuery()
  if (!('data' in executed) || JSON.stringify(executed.data) !== JSON.stringify(parsedAnswer.data))
    throw new Error('the query executed to another answer than the market gave')
  return [() => parse(query), () => validate(schema, document), executeQuery, () => JSON.stringify(parsedAnswer)]
}

/** @returns milliseconds per run */
function measureMeanMs(work: () => unknown): number {
  const startedAt = performance.now()
  for (let run = 0; run < IN_PROCESS_RUNS; run++) work()
  return (performance.now() - startedAt) / IN_PROCESS_RUNS
}

function toRows(samples: readonly StepSample[]): readonly BenchmarkRow[] {
  const whole = samples.map(({ medians }) => medians[4] ?? Number.NaN)
  const row = (
    description: string,
    pick: (at: (index: number) => number, work: (index: number) => number) => number,
  ): BenchmarkRow => {
    const number = (value: number | undefined): number => value ?? Number.NaN
    const figures = samples.map(({ medians, inProcess }) =>
      pick(
        (index) => number(medians[index]),
        (index) => number(inProcess[index]),
      ),
    )
    return {
      description,
      unit: 'ms',
      figures,
      ratios: figures.map((figure, round) => figure / number(whole[round])),
      reference: { name: 'the whole call', figures: whole },
    }
  }
  return [
    row('of get_order at 1 caller: bare node:http', (at) => at(0)),
    row('of get_order at 1 caller: express, headers, reading the body', (at) => at(1) - at(0)),
    row('of get_order at 1 caller: the GraphQL server around a document of one field', (at) => at(2) - at(1)),
    row('of get_order at 1 caller: auth, the credential', (at) => at(3) - at(2)),
    row('of get_order at 1 caller: plan, the fields of the query over an answer that is there', (_, work) => work(2)),
    row('of get_order at 1 caller: serialise, the answer as text', (_, work) => work(3)),
    row('of get_order at 1 caller: read, all that is left', (at, work) => at(4) - at(3) - work(2) - work(3)),
    row('beside it, where the document is new: parse', (_, work) => work(0)),
    row('beside it, where the document is new: plan, its validation', (_, work) => work(1)),
    row('beside it, where the document is new: both, as the market answers later', (at) => at(5) - at(4)),
  ]
}
