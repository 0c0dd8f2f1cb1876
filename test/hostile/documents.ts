import fc from 'fast-check'
import { getNamedType, isInputObjectType } from 'graphql'
import { jsonOf, type Piece } from './piece.ts'
import { type Operation, selectionOf } from './schema.ts'
import { PROTOTYPE_NAMES } from './values.ts'

/** The arguments of an operation, by name. */
export type Given = readonly (readonly [string, Piece | undefined])[]
/** A body of `POST /graphql`, as text: not all of it is JSON. */
export type Body = { readonly text: string; readonly kinds: readonly string[] }

type Call = { readonly operation: Operation; readonly given: Given; readonly n: number; readonly word: string }

const wrap = (path: readonly string[], inner: string): string =>
  `${path.map((name) => `{ ${name} `).join('')}${inner}${' }'.repeat(path.length)}`

const asLiterals = (given: Given): string =>
  parenthesised(given.flatMap(([name, value]) => (value ? [`${name}: ${value.literal}`] : [])))
const parenthesised = (parts: readonly string[]): string => (parts.length > 0 ? `(${parts.join(', ')})` : '')

/** The operation itself, `alias` and directive before and behind its name. */
function leaf({ operation: { path, field } }: Call, args: string, { alias = '', directive = '' } = {}): string {
  return `${alias === '' ? '' : `${alias}: `}${path.at(-1) ?? ''}${args}${directive}${selectionOf(field.type)}`
}

const spaces = ({ operation: { path } }: Call): readonly string[] => path.slice(0, -1)

function document(call: Call, inner: string, { head = '', more = '' } = {}): string {
  return `${call.operation.kind} ${head}${wrap(spaces(call), `{ ${inner} }`).replace(/^\{/, ' {')}${more}`
}

/** A document in which everything is a variable, and what they hold. */
function withVariables(call: Call, name = (arg: string) => arg) {
  const types = new Map(call.operation.field.args.map((arg) => [arg.name, String(arg.type)]))
  const declared = parenthesised(call.given.map(([arg]) => `$${name(arg)}: ${types.get(arg) ?? 'String'}`))
  const args = parenthesised(call.given.map(([arg]) => `${arg}: $${name(arg)}`))
  const sent = call.given.flatMap(([arg, value]) => (value ? [`${jsonOf(name(arg))}:${value.json}`] : []))
  return { declared, args, variables: `{${sent.join(',')}}` }
}

const body = (query: string, variables?: string, more = ''): string =>
  `{"query":${jsonOf(query)}${variables === undefined ? '' : `,"variables":${variables}`}${more}}`
const literally = (call: Call, with_: { alias?: string; directive?: string } = {}) => leaf(call, asLiterals(call.given), with_)

const byVariables = (call: Call, more = '', fields = ''): string => {
  const { declared, args, variables } = withVariables(call)
  return body(document(call, leaf(call, args), { head: `M${declared}`, more }), variables, fields)
}

/** Mutations are repeated less often: a right one is carried out each time. */
const times = ({ operation, n }: Call): number => (operation.kind === 'mutation' ? 2 + (n % 12) : ([2, 60, 150, 400][n % 4] ?? 2))
const many = (count: number, make: (at: number) => string): string => Array.from({ length: count }, (_, at) => make(at)).join(' ')

/** Ways to put the same call into a request. */
const shapes: Readonly<Record<string, (call: Call) => string>> = {
  variables: (call) => byVariables(call),
  literals: (call) => body(document(call, literally(call))),
  'literals and variables': (call) => {
    const [first, ...rest] = call.given
    if (!first) return body(document(call, literally(call)))
    const { declared, args, variables } = withVariables({ ...call, given: [first] })
    return body(
      document(call, leaf(call, args.replace(/\)$/, `${asLiterals(rest).replace(/^\(/, ', ').replace(/\)$/, '')})`)), {
        head: `M${declared}`,
      }),
      variables,
    )
  },
  'fields as variables': (call) => fieldsAsVariables(call),
  aliases: (call) =>
    body(
      document(
        call,
        many(times(call), (at) => literally(call, { alias: `a${at}` })),
      ),
    ),
  'prototype aliases': (call) => body(document(call, PROTOTYPE_NAMES.map((alias) => literally(call, { alias })).join(' '))),
  'prototype variables': (call) => {
    const { declared, args, variables } = withVariables(
      call,
      (arg) => PROTOTYPE_NAMES[arg.length % PROTOTYPE_NAMES.length] ?? arg,
    )
    return body(document(call, leaf(call, args), { head: `M${declared}` }), variables)
  },
  'cyclic fragments': (call) =>
    body(
      document(call, `${literally(call)} ...A`, {
        more: ` fragment A on ${typeAt(call)} { ...B } fragment B on ${typeAt(call)} { ...A }`,
      }),
    ),
  'unused fragment': (call) => byVariables(call, ` fragment Unused on ${typeAt(call)} { id }`),
  'fragment a thousand times': (call) =>
    body(
      document(call, `${literally(call)} ${many(call.n % 2 ? 1000 : 300, () => '...F')}`, {
        more: ` fragment F on ${typeAt(call)} { id }`,
      }),
    ),
  'growing fragments': (call) =>
    body(
      document(call, `${literally(call)} ...F0`, {
        more:
          many(25, (at) => ` fragment F${at} on ${typeAt(call)} { id ...F${at + 1} ...F${at + 1} }`) +
          ` fragment F25 on ${typeAt(call)} { id }`,
      }),
    ),
  'one fragment for all': (call) =>
    body(document(call, '...F', { more: ` fragment F on ${typeAt(call)} { ${literally(call)} }` })),
  directives: (call) =>
    body(
      document(
        call,
        literally(call, {
          directive:
            [
              ' @skip(if: true)',
              ' @include(if: "x")',
              ' @nope',
              ' @skip(if: false) @skip(if: false)',
              ' @include(if: true)',
              ' @deprecated',
              ` ${many(200, () => '@include(if: true)')}`,
            ][call.n % 7] ?? '',
        }),
      ),
    ),
  'several operations': (call) =>
    body(
      `${document(call, literally(call), { head: 'A' })} query B { __typename } query B { __typename }`,
      undefined,
      [
        '',
        ',"operationName":"A"',
        ',"operationName":"B"',
        ',"operationName":"__proto__"',
        ',"operationName":""',
        ',"operationName":5',
      ][call.n % 6],
    ),
  'another kind of operation': (call) =>
    body(document(call, literally(call)).replace(/^\w+/, ['query', 'mutation', 'subscription', 'fragment'][call.n % 4] ?? '')),
  'deep selection': (call) => body(document(call, `${literally(call)} ${many([20, 300, 900][call.n % 3] ?? 20, () => '{ id ')}`)),
  'unknown fields': (call) =>
    body(document(call, `${literally(call)} nope ${call.word.replace(/\W/g, '')}x { y } __schema { nope } __nope`)),
  introspection: (call) =>
    body(
      `${document(call, literally(call))} `.replace(/^mutation.*/, '') +
        many(
          1 + (call.n % 3) * 40,
          (at) =>
            `query I${at} { __schema { types { name fields { name type { name ofType { name } } args { name defaultValue } } } } __type(name: "__proto__") { name } }`,
        ),
      undefined,
      ',"operationName":"I0"',
    ),
  batch: (call) => `[${many([1, 2, 500][call.n % 3] ?? 1, () => `${byVariables(call)},`)}null]`,
  'persisted query': (call) =>
    byVariables(
      call,
      '',
      `,"extensions":{"persistedQuery":{"version":1,"sha256Hash":${jsonOf(call.n % 2 ? 'a'.repeat(64) : call.word)}}}`,
    ),
  'only a hash': (call) => `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":${jsonOf(call.word)}}},"variables":{}}`,
  'odd extensions': (call) =>
    byVariables(
      call,
      '',
      [
        ',"extensions":[]',
        ',"extensions":"x"',
        ',"extensions":{"__proto__":{"code":"x"}}',
        ',"extensions":{"http":{"status":500}}',
        ',"__proto__":{"query":"x"}',
        ',"constructor":{}',
      ][call.n % 6],
    ),
  'odd variables': (call) =>
    body(
      document(call, literally(call)),
      ['[]', '"x"', '5', 'null', '{"__proto__":{"input":{}}}', `{${many(2000, (at) => `"v${at}":1,`)}"z":1}`][call.n % 6],
    ),
  'repeated keys': (call) =>
    byVariables(
      call,
      '',
      `,"query":${jsonOf(document(call, literally(call)))},"variables":{},"variables":${withVariables(call).variables}`,
    ),
  'odd query': (call) =>
    `{"query":${['null', '5', '[]', '{}', '""', '" "', '"\\ud800"', '"\\u0000"', '"{"', '"#"', `"${'#'.repeat(5000)}"`, `"{ ${'a '.repeat(3000)}}"`][call.n % 12] ?? 'null'}}`,
  // Comments count for nothing where a document is read, and each is different.
  comments: (call) =>
    body(`${'#\n'.repeat([100, 10_000, 60_000][call.n % 3] ?? 0)}${document(call, literally(call))} #${jsonOf(call.word)}`),
  'cut document': (call) => body(document(call, literally(call)).slice(0, call.n)),
  'broken document': (call) => {
    const text = document(call, literally(call))
    const at = call.n % text.length
    return body(text.slice(0, at) + call.word + text.slice(at + (call.n % 3)))
  },
  'block string': (call) => body(document(call, literally(call)).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => `""${text}""`)),
  'cut body': (call) => byVariables(call).slice(0, -1 - (call.n % 20)),
  'padded body': (call) => `${' \n\t'.repeat(call.n * 5)}${byVariables(call)}${'\n'.repeat(call.n)}`,
  'a key of a megabyte': (call) => byVariables(call, '', `,"${'k'.repeat([1000, 300_000, 1_100_000][call.n % 3] ?? 0)}":1`),
}

export const shapeKinds: readonly string[] = Object.keys(shapes)

/** The type in whose selection the operation stands; a wrong guess is only one more wrong document. */
const typeAt = ({ operation: { path, kind } }: Call): string => {
  const [first = '', ...rest] = path.slice(0, -1).map((name) => name.charAt(0).toUpperCase() + name.slice(1))
  const end = kind === 'query' ? 'Queries' : 'Mutations'
  return `${first}${rest.join('')}${end}`
}

/** `input: { one: $one, two: $two }`: literal around, variables within. */
function fieldsAsVariables(call: Call): string {
  const arg = call.operation.field.args.find(({ type }) => isInputObjectType(getNamedType(type)))
  const type = arg && getNamedType(arg.type)
  const value = call.given.find(([name]) => name === arg?.name)?.[1]
  if (!arg || !isInputObjectType(type) || !value?.json.startsWith('{')) return byVariables(call)
  const fields = Object.values(type.getFields())
  const declared = parenthesised(fields.map((field) => `$${field.name}: ${String(field.type)}`))
  const inner = fields.map(({ name }) => `${name}: $${name}`).join(', ')
  return body(document(call, leaf(call, `(${arg.name}: {${inner}})`), { head: `M${declared}` }), value.json)
}

const word = fc.string({ unit: 'binary', maxLength: 12 })
const shapeOf = fc.oneof(
  fc.constantFrom('variables', 'variables', 'literals', 'fields as variables'),
  fc.constantFrom(...shapeKinds),
)

/** A request for one operation. Half of them are plain, so that what is given gets past the reading of the document. */
export const bodyOf = (operation: Operation, given: fc.Arbitrary<Given>): fc.Arbitrary<Body> =>
  fc
    .record({
      given,
      shape: shapeOf,
      n: fc.nat({ max: 300 }),
      word,
    })
    .map(({ given: values, shape, ...more }) => ({
      text: shapes[shape]?.({ operation, given: values, ...more }) ?? '',
      kinds: [`document: ${shape}`, ...values.flatMap(([, value]) => value?.kinds ?? ['missing field'])],
    }))
