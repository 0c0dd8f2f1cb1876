import fc from 'fast-check'
import { getNamedType, isInputObjectType } from 'graphql'
import { toJson, type JsonNode } from './json-node.ts'
import { type Operation, formatSelection } from './schema.ts'
import { PROTOTYPE_NAMES } from './values.ts'

/** The arguments of an operation, by name. */
export type ArgumentValues = readonly (readonly [string, JsonNode | undefined])[]
/** A body of `POST /graphql` as text, which may be invalid JSON. */
export type DocumentBody = { readonly text: string; readonly kinds: readonly string[] }

type OperationCall = {
  readonly operation: Operation
  readonly values: ArgumentValues
  readonly number: number
  readonly junk: string
}

const nestInPath = (path: readonly string[], inner: string): string =>
  `${path.map((name) => `{ ${name} `).join('')}${inner}${' }'.repeat(path.length)}`

const formatLiterals = (values: ArgumentValues): string =>
  parenthesise(values.flatMap(([name, value]) => (value ? [`${name}: ${value.literal}`] : [])))
const parenthesise = (parts: readonly string[]): string => (parts.length > 0 ? `(${parts.join(', ')})` : '')

/** Formats the operation, with an alias before its name and a directive after its arguments. */
function formatOperation(
  { operation: { path, field } }: OperationCall,
  args: string,
  { alias = '', directive = '' } = {},
): string {
  return `${alias === '' ? '' : `${alias}: `}${path.at(-1) ?? ''}${args}${directive}${formatSelection(field.type)}`
}

const getNamespaces = ({ operation: { path } }: OperationCall): readonly string[] => path.slice(0, -1)

function formatDocument(call: OperationCall, inner: string, { head = '', more = '' } = {}): string {
  return `${call.operation.kind} ${head}${nestInPath(getNamespaces(call), `{ ${inner} }`).replace(/^\{/, ' {')}${more}`
}

/** Returns the declarations, arguments and values for a document in which every argument is a variable. */
function useVariables(call: OperationCall, name = (arg: string) => arg) {
  const types = new Map(call.operation.field.args.map((arg) => [arg.name, String(arg.type)]))
  const declarations = parenthesise(call.values.map(([arg]) => `$${name(arg)}: ${types.get(arg) ?? 'String'}`))
  const args = parenthesise(call.values.map(([arg]) => `${arg}: $${name(arg)}`))
  const variableTexts = call.values.flatMap(([arg, value]) => (value ? [`${toJson(name(arg))}:${value.json}`] : []))
  return { declared: declarations, args, variables: `{${variableTexts.join(',')}}` }
}

const formatBody = (query: string, variables?: string, more = ''): string =>
  `{"query":${toJson(query)}${variables === undefined ? '' : `,"variables":${variables}`}${more}}`
const formatWithLiterals = (call: OperationCall, options: { alias?: string; directive?: string } = {}) =>
  formatOperation(call, formatLiterals(call.values), options)

const formatWithVariables = (call: OperationCall, more = '', fields = ''): string => {
  const { declared: declarations, args, variables } = useVariables(call)
  return formatBody(formatDocument(call, formatOperation(call, args), { head: `M${declarations}`, more }), variables, fields)
}

/** Mutations are repeated less often, because each repetition of a valid mutation is carried out. */
const countRepeats = ({ operation, number }: OperationCall): number =>
  operation.kind === 'mutation' ? 2 + (number % 12) : ([2, 60, 150, 400][number % 4] ?? 2)
/** Far above the body limit. Without this limit, a long repeated value would exceed the longest string of V8. */
const MAX_REPEATED_LENGTH = 16_000_000
function repeatText(count: number, makeText: (at: number) => string): string {
  const texts: string[] = []
  for (let at = 0, length = 0; at < count && length < MAX_REPEATED_LENGTH; length += texts[at++]?.length ?? 0)
    texts.push(makeText(at))
  return texts.join(' ')
}

/** Ways to express the same call in a request. */
const documentShapes: Readonly<Record<string, (call: OperationCall) => string>> = {
  variables: (call) => formatWithVariables(call),
  literals: (call) => formatBody(formatDocument(call, formatWithLiterals(call))),
  'literals and variables': (call) => {
    const [first, ...rest] = call.values
    if (!first) return formatBody(formatDocument(call, formatWithLiterals(call)))
    const { declared: declarations, args, variables } = useVariables({ ...call, values: [first] })
    return formatBody(
      formatDocument(
        call,
        formatOperation(call, args.replace(/\)$/, `${formatLiterals(rest).replace(/^\(/, ', ').replace(/\)$/, '')})`)),
        {
          head: `M${declarations}`,
        },
      ),
      variables,
    )
  },
  'fields as variables': (call) => formatFieldsAsVariables(call),
  aliases: (call) =>
    formatBody(
      formatDocument(
        call,
        repeatText(countRepeats(call), (at) => formatWithLiterals(call, { alias: `a${at}` })),
      ),
    ),
  'prototype aliases': (call) =>
    formatBody(formatDocument(call, PROTOTYPE_NAMES.map((alias) => formatWithLiterals(call, { alias })).join(' '))),
  'prototype variables': (call) => {
    const {
      declared: declarations,
      args,
      variables,
    } = useVariables(call, (arg) => PROTOTYPE_NAMES[arg.length % PROTOTYPE_NAMES.length] ?? arg)
    return formatBody(formatDocument(call, formatOperation(call, args), { head: `M${declarations}` }), variables)
  },
  'cyclic fragments': (call) =>
    formatBody(
      formatDocument(call, `${formatWithLiterals(call)} ...A`, {
        more: ` fragment A on ${guessType(call)} { ...B } fragment B on ${guessType(call)} { ...A }`,
      }),
    ),
  'unused fragment': (call) => formatWithVariables(call, ` fragment Unused on ${guessType(call)} { id }`),
  'fragment a thousand times': (call) =>
    formatBody(
      formatDocument(call, `${formatWithLiterals(call)} ${repeatText(call.number % 2 ? 1000 : 300, () => '...F')}`, {
        more: ` fragment F on ${guessType(call)} { id }`,
      }),
    ),
  'growing fragments': (call) =>
    formatBody(
      formatDocument(call, `${formatWithLiterals(call)} ...F0`, {
        more:
          repeatText(25, (at) => ` fragment F${at} on ${guessType(call)} { id ...F${at + 1} ...F${at + 1} }`) +
          ` fragment F25 on ${guessType(call)} { id }`,
      }),
    ),
  'one fragment for all': (call) =>
    formatBody(formatDocument(call, '...F', { more: ` fragment F on ${guessType(call)} { ${formatWithLiterals(call)} }` })),
  directives: (call) =>
    formatBody(
      formatDocument(
        call,
        formatWithLiterals(call, {
          directive:
            [
              ' @skip(if: true)',
              ' @include(if: "x")',
              ' @nope',
              ' @skip(if: false) @skip(if: false)',
              ' @include(if: true)',
              ' @deprecated',
              ` ${repeatText(200, () => '@include(if: true)')}`,
            ][call.number % 7] ?? '',
        }),
      ),
    ),
  'several operations': (call) =>
    formatBody(
      `${formatDocument(call, formatWithLiterals(call), { head: 'A' })} query B { __typename } query B { __typename }`,
      undefined,
      [
        '',
        ',"operationName":"A"',
        ',"operationName":"B"',
        ',"operationName":"__proto__"',
        ',"operationName":""',
        ',"operationName":5',
      ][call.number % 6],
    ),
  'another kind of operation': (call) =>
    formatBody(
      formatDocument(call, formatWithLiterals(call)).replace(
        /^\w+/,
        ['query', 'mutation', 'subscription', 'fragment'][call.number % 4] ?? '',
      ),
    ),
  'deep selection': (call) =>
    formatBody(
      formatDocument(call, `${formatWithLiterals(call)} ${repeatText([20, 300, 900][call.number % 3] ?? 20, () => '{ id ')}`),
    ),
  'unknown fields': (call) =>
    formatBody(
      formatDocument(call, `${formatWithLiterals(call)} nope ${call.junk.replace(/\W/g, '')}x { y } __schema { nope } __nope`),
    ),
  introspection: (call) =>
    formatBody(
      `${formatDocument(call, formatWithLiterals(call))} `.replace(/^mutation.*/, '') +
        repeatText(
          1 + (call.number % 3) * 40,
          (at) =>
            `query I${at} { __schema { types { name fields { name type { name ofType { name } } args { name defaultValue } } } } __type(name: "__proto__") { name } }`,
        ),
      undefined,
      ',"operationName":"I0"',
    ),
  batch: (call) => `[${repeatText([1, 2, 500][call.number % 3] ?? 1, () => `${formatWithVariables(call)},`)}null]`,
  'persisted query': (call) =>
    formatWithVariables(
      call,
      '',
      `,"extensions":{"persistedQuery":{"version":1,"sha256Hash":${toJson(call.number % 2 ? 'a'.repeat(64) : call.junk)}}}`,
    ),
  'only a hash': (call) => `{"extensions":{"persistedQuery":{"version":1,"sha256Hash":${toJson(call.junk)}}},"variables":{}}`,
  'odd extensions': (call) =>
    formatWithVariables(
      call,
      '',
      [
        ',"extensions":[]',
        ',"extensions":"x"',
        ',"extensions":{"__proto__":{"code":"x"}}',
        ',"extensions":{"http":{"status":500}}',
        ',"__proto__":{"query":"x"}',
        ',"constructor":{}',
      ][call.number % 6],
    ),
  'odd variables': (call) =>
    formatBody(
      formatDocument(call, formatWithLiterals(call)),
      ['[]', '"x"', '5', 'null', '{"__proto__":{"input":{}}}', `{${repeatText(2000, (at) => `"v${at}":1,`)}"z":1}`][
        call.number % 6
      ],
    ),
  'repeated keys': (call) =>
    formatWithVariables(
      call,
      '',
      `,"query":${toJson(formatDocument(call, formatWithLiterals(call)))},"variables":{},"variables":${useVariables(call).variables}`,
    ),
  'odd query': (call) =>
    `{"query":${['null', '5', '[]', '{}', '""', '" "', '"\\ud800"', '"\\u0000"', '"{"', '"#"', `"${'#'.repeat(5000)}"`, `"{ ${'a '.repeat(3000)}}"`][call.number % 12] ?? 'null'}}`,
  // Comments do not change the meaning of a document.
  comments: (call) =>
    formatBody(
      `${'#\n'.repeat([100, 10_000, 60_000][call.number % 3] ?? 0)}${formatDocument(call, formatWithLiterals(call))} #${toJson(call.junk)}`,
    ),
  'cut document': (call) => formatBody(formatDocument(call, formatWithLiterals(call)).slice(0, call.number)),
  'broken document': (call) => {
    const text = formatDocument(call, formatWithLiterals(call))
    const at = call.number % text.length
    return formatBody(text.slice(0, at) + call.junk + text.slice(at + (call.number % 3)))
  },
  'block string': (call) =>
    formatBody(formatDocument(call, formatWithLiterals(call)).replaceAll(/"(?:[^"\\]|\\.)*"/g, (text) => `""${text}""`)),
  'cut body': (call) => formatWithVariables(call).slice(0, -1 - (call.number % 20)),
  'padded body': (call) => `${' \n\t'.repeat(call.number * 5)}${formatWithVariables(call)}${'\n'.repeat(call.number)}`,
  'a key of a megabyte': (call) =>
    formatWithVariables(call, '', `,"${'k'.repeat([1000, 300_000, 1_100_000][call.number % 3] ?? 0)}":1`),
}

export const documentShapeNames: readonly string[] = Object.keys(documentShapes)

/** Guesses the GraphQL type that contains the operation. A wrong guess makes the document invalid, which does no harm. */
const guessType = ({ operation: { path, kind } }: OperationCall): string => {
  const [first = '', ...rest] = path.slice(0, -1).map((name) => name.charAt(0).toUpperCase() + name.slice(1))
  const end = kind === 'query' ? 'Queries' : 'Mutations'
  return `${first}${rest.join('')}${end}`
}

/** Formats a literal input object whose fields are variables: `input: { one: $one, two: $two }`. */
function formatFieldsAsVariables(call: OperationCall): string {
  const arg = call.operation.field.args.find(({ type }) => isInputObjectType(getNamedType(type)))
  const type = arg && getNamedType(arg.type)
  const value = call.values.find(([name]) => name === arg?.name)?.[1]
  if (!arg || !isInputObjectType(type) || !value?.json.startsWith('{')) return formatWithVariables(call)
  const fields = Object.values(type.getFields())
  const declarations = parenthesise(fields.map((field) => `$${field.name}: ${String(field.type)}`))
  const inner = fields.map(({ name }) => `${name}: $${name}`).join(', ')
  return formatBody(
    formatDocument(call, formatOperation(call, `(${arg.name}: {${inner}})`), { head: `M${declarations}` }),
    value.json,
  )
}

const junkText = fc.string({ unit: 'binary', maxLength: 12 })
const anyShape = fc.oneof(
  fc.constantFrom('variables', 'variables', 'literals', 'fields as variables'),
  fc.constantFrom(...documentShapeNames),
)

/** Generates a request for one operation. Half of the requests have a plain document, so that their values are parsed. */
export const generateDocument = (operation: Operation, values: fc.Arbitrary<ArgumentValues>): fc.Arbitrary<DocumentBody> =>
  fc
    .record({
      given: values,
      shape: anyShape,
      number: fc.nat({ max: 300 }),
      junk: junkText,
    })
    .map(({ given: values, shape, ...more }) => ({
      text: documentShapes[shape]?.({ operation, values, ...more }) ?? '',
      kinds: [`document: ${shape}`, ...values.flatMap(([, value]) => value?.kinds ?? ['missing field'])],
    }))
