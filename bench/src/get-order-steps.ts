import { schema, schemaText } from '@penstock/gateway/graphql/schema.ts'
import { buildSchema, execute, parse, validate } from 'graphql'
import { durations, poster } from './callers.ts'
import { quantile, type Row } from './harness.ts'

/** A query of the real order, and the whole answer that the market gives to it. */
type Sale = { readonly query: string; readonly variables: object; readonly answer: string }

export type Doors = {
  readonly url: string
  readonly bearer: Readonly<Record<string, string>>
  /** Bare node:http that answers as many bytes. */
  readonly bare: string
  readonly sale: Sale
}

const NOTHING = JSON.stringify({ query: '{ __typename }' })
const RUNS_IN_PROCESS = 500

/**
 * Where the time of one call goes, in milliseconds. Of what the market does around the query, differences of requests of which
 * each needs one thing more than the one before; of what is done with the query and its answer, the same functions in this
 * process. What is left of the whole is reading the order. `calls`: requests of a kind in each round.
 */
export async function orderSteps(doors: Doors, calls: number, rounds: number): Promise<readonly Row[]> {
  const clients = clientsOf(doors)
  const inProcess = worksOf(doors.sale)
  const taken: Taken[] = []
  for (let round = -1; round < rounds; round++) {
    const medians: number[] = []
    for (const { call } of clients) medians.push(quantile(await durations(1, calls, call), 0.5))
    const here = { medians, works: inProcess.map(each) }
    // The first round is there to compile the code.
    if (round >= 0) taken.push(here)
  }
  clients.forEach(({ close }) => close())
  return rowsOf(taken)
}

type Taken = { readonly medians: readonly number[]; readonly works: readonly number[] }

function clientsOf({ url, bearer, bare, sale }: Doors) {
  const { query, variables } = sale
  let fresh = 0
  const whole = JSON.stringify({ query, variables })
  const asked = [
    { to: bare, headers: {}, body: () => whole },
    { to: url, headers: {}, body: () => '[]' },
    { to: url, headers: {}, body: () => NOTHING },
    { to: url, headers: bearer, body: () => NOTHING },
    { to: url, headers: bearer, body: () => whole },
    // The server has never met these texts, so it reads and checks them; all others it knows.
    { to: url, headers: bearer, body: () => JSON.stringify({ query: `${query}\n# ${fresh++}`, variables }) },
  ]
  return asked.map(({ to, headers, body }) => {
    const { call, close } = poster(to, 1, headers)
    return { call: () => call(body()), close }
  })
}

/** Parse, validate, execute over an answer that is there already, serialise. */
function worksOf({ query, variables, answer }: Sale): readonly (() => unknown)[] {
  const document = parse(query)
  const resolved = buildSchema(schemaText())
  const made = JSON.parse(answer) as { data: object } // the market answered so
  const plan = () => execute({ schema: resolved, document, rootValue: made.data, variableValues: { ...variables } })
  const again = plan()
  if (!('data' in again) || JSON.stringify(again.data) !== JSON.stringify(made.data))
    throw new Error('the answer that is there already is another one')
  return [() => parse(query), () => validate(schema, document), plan, () => JSON.stringify(made)]
}

/** Milliseconds a run. */
function each(work: () => unknown): number {
  const began = performance.now()
  for (let run = 0; run < RUNS_IN_PROCESS; run++) work()
  return (performance.now() - began) / RUNS_IN_PROCESS
}

function rowsOf(taken: readonly Taken[]): readonly Row[] {
  const whole = taken.map(({ medians }) => medians[4] ?? Number.NaN)
  const row = (what: string, of: (at: (index: number) => number, work: (index: number) => number) => number): Row => {
    const number = (value: number | undefined): number => value ?? Number.NaN
    const figures = taken.map(({ medians, works }) =>
      of(
        (index) => number(medians[index]),
        (index) => number(works[index]),
      ),
    )
    return {
      what,
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
