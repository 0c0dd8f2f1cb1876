import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { type BodyField, bodyWith } from './bodies.ts'
import { sending } from './headers.ts'
import { type Pool, seldom, type Shape, shapeOf } from './inputs.ts'
import type { Piece } from './piece.ts'
import type { RouteSeen } from './probe.ts'
import type { Caller, Shot } from './shot.ts'
import type { Target } from './targets.ts'
import { nearly, rubbish } from './values.ts'

type Property = { readonly type?: string; readonly anyOf?: readonly Property[] }
type BodySchema = { readonly properties: Readonly<Record<string, Property>> }
type OpenApiPath = Readonly<
  Record<
    string,
    {
      readonly parameters?: readonly { readonly name: string; readonly in: string }[]
      readonly requestBody?: object
      readonly responses: Readonly<Record<string, object>>
    }
  >
>
export type OpenApi = {
  readonly servers: readonly [{ readonly url: string }]
  readonly paths: Readonly<Record<string, OpenApiPath>>
  readonly components: { readonly schemas: Readonly<Record<string, BodySchema>> }
}

export const readOpenApi = (): OpenApi =>
  JSON.parse(readFileSync(new URL('../../docs/api/lsps1.openapi.json', import.meta.url), 'utf8')) as OpenApi // it is made from schemas of its own

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']

/** Fields of bodies that no document describes: what operators send. An unknown name in an answer of 400 is one more. */
export type Fields = ReadonlyMap<string, readonly BodyField[]>

/** Every route with its own methods, and each address once with others. GraphQL has its own targets. */
export function restTargets(routes: readonly RouteSeen[], pool: Pool, fields: Fields): readonly Target[] {
  const shape = shapeOf(pool)
  const openApi = readOpenApi()
  const known = routes.filter(
    ({ path, methods }) =>
      !methods.includes('_all') && methods.length < METHODS.length && !(path === '/graphql' && methods.includes('post')),
  )
  const own = known.flatMap(({ path, methods }) => methods.map((method) => ({ path, methods: [method.toUpperCase()] })))
  const other = [...new Set(known.map(({ path }) => path))].map((path) => ({
    path,
    methods: METHODS.filter(
      (method) =>
        !own.some((one) => one.path === path && one.methods.includes(method)) && !(path === '/graphql' && method === 'POST'),
    ),
  }))
  const nowhere = [
    '/nowhere/:id',
    '/operator/nowhere',
    '/api/lsp/v1/nowhere',
    '/api/lsp/v1/recommended/:id',
    '/graphql/:id',
    '/assets/:id',
  ]
  return [
    ...own.map(({ path, methods }) =>
      target(`${methods[0] ?? ''} ${path}`, path, methods, shape, bodyFields(path, openApi, fields)),
    ),
    ...[...other, ...nowhere.map((path) => ({ path, methods: METHODS }))].map(({ path, methods }) =>
      target(`another method ${path}`, path, methods, shape, bodyFields(path, openApi, fields)),
    ),
  ]
}

/** What the document says of an address, whose parameters are filled in. */
export function documented({ servers, paths }: OpenApi, path: string): OpenApiPath | undefined {
  const [{ url }] = servers
  const found = Object.entries(paths).find(([template]) =>
    new RegExp(`^${url}${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path),
  )
  return found?.[1]
}

function bodyFields(path: string, openApi: OpenApi, fields: Fields): readonly BodyField[] {
  const post = documented(openApi, path)?.['post']
  if (!post?.requestBody) return fields.get(path) ?? []
  const [, schema = ''] = /schemas\/(\w+)/.exec(JSON.stringify(post.requestBody)) ?? []
  return Object.entries(openApi.components.schemas[schema]?.properties ?? {}).map(([name, property]) => ({
    name,
    scalar: scalarIn(property),
  }))
}

const scalarIn = ({ type, anyOf }: Property): string => {
  const said = type ?? anyOf?.find((one) => one.type !== 'null')?.type
  return said === 'integer' ? 'Int' : said === 'boolean' ? 'Boolean' : 'String'
}

function target(name: string, path: string, methods: readonly string[], shape: Shape, fields: readonly BodyField[]): Target {
  const body = bodyWith(fields, shape)
  const anything: fc.Arbitrary<Piece> = fc.oneof({ weight: 6, arbitrary: body }, { weight: 1, arbitrary: rubbish })
  const shots = (caller: Caller): fc.Arbitrary<Shot> =>
    fc
      .record({ method: fc.constantFrom(...methods), at: addressOf(path, shape), body: anything })
      .chain(({ method, at, body: made }) =>
        sending(made.json).map((sent) => {
          const isBare = method === 'GET' || method === 'HEAD' || method === 'TRACE'
          const bare = Object.fromEntries(Object.entries(sent.headers).filter(([header]) => !header.startsWith('content-')))
          return {
            target: name,
            caller,
            method,
            path: at.path,
            headers: isBare ? bare : sent.headers,
            body: isBare ? undefined : sent.body,
            kinds: [...at.kinds, ...(isBare ? [] : [...made.kinds, ...sent.kinds]), `method ${method}`],
          }
        }),
      )
  return { name, callers: ['stranger', 'session', 'dashboard', 'seller', 'operator'], shots }
}

type Address = { readonly path: string; readonly kinds: readonly string[] }

/** An address with its parameters, a query, and things that addresses should not have. */
function addressOf(path: string, shape: Shape): fc.Arbitrary<Address> {
  const names = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
  return fc
    .record({
      filled: fc.tuple(...names.map((name) => inPath(name, shape))),
      query: queryOf(shape),
      around: seldom(12, fc.constantFrom(...AROUND)),
      odd: seldom(
        12,
        fc.constantFrom(
          '/',
          '//',
          '/..',
          '/%2e%2e/%2e%2e/etc/passwd',
          '%00',
          '%',
          '%E0%A4%A',
          ';a=b',
          '/.',
          '\\..\\',
          '?',
          '%0d%0aX:%20y',
          '/%2f',
          '.json',
          '%ff',
        ),
      ),
    })
    .map(({ filled, query, around, odd }) => ({
      path:
        (around ?? ((plain) => plain))(
          path
            .replaceAll(/:\w+/g, () => '\u0000')
            .split('\u0000')
            .flatMap((part, at) => [part, filled[at]?.text ?? ''])
            .join(''),
        ) +
        (odd ?? '') +
        query.text,
      kinds: [...filled.map(({ kind }) => kind), ...query.kinds, ...((odd ?? around) ? ['odd address'] : [])],
    }))
}

/** The same address, as somebody writes it who wants to get past what looks at addresses. */
const AROUND: readonly ((path: string) => string)[] = [
  (path) => `/${path}`,
  (path) => path.replaceAll('/', '//'),
  (path) => path.replace(/^\/\w/, (begin) => begin.toUpperCase()),
  (path) => path.replace(/^\/\w+/, (begin) => begin.toUpperCase()),
  (path) => `/nowhere/..${path}`,
  (path) => `/.${path}`,
  (path) => `/%2e%2e${path}`,
  (path) => path.replace(/^\/(\w)/, (_, letter: string) => `/%${letter.charCodeAt(0).toString(16)}`),
  (path) => path.replace(/(.)\//, '$1%2f'),
]

const inPath = (name: string, { pool, everything }: Shape): fc.Arbitrary<{ text: string; kind: string }> => {
  const known = pool.get(name) ?? ['x']
  const text = ({ json }: Piece) => encodeURIComponent(json.replaceAll(/^"|"$/g, '').slice(0, 4000).toWellFormed())
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...known).map((value) => ({ text: value, kind: 'right value' })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(...known)
        .chain(nearly)
        .map((value) => ({ text: text(value), kind: 'nearly right' })),
    },
    { weight: 1, arbitrary: everything.map((value) => ({ text: encodeURIComponent(value), kind: 'value of another field' })) },
    { weight: 2, arbitrary: rubbish.map((value) => ({ text: text(value), kind: value.kinds[0] ?? '' })) },
  )
}

const queryOf = ({ pool }: Shape): fc.Arbitrary<{ text: string; kinds: readonly string[] }> => {
  const [id = ''] = pool.get('order_id') ?? []
  const ids = pool.get('order_id') ?? ['']
  return fc.oneof(
    { weight: 2, arbitrary: fc.constant({ text: '', kinds: [] }) },
    { weight: 4, arbitrary: fc.constantFrom(...ids).map((value) => ({ text: `?order_id=${value}`, kinds: ['right value'] })) },
    {
      weight: 3,
      arbitrary: fc
        .constantFrom(
          `?order_id=${id}&order_id=${id}`,
          `?order_id[]=${id}`,
          `?order_id[__proto__]=${id}`,
          '?__proto__[order_id]=x&constructor[prototype][x]=1',
          `?order_id=${id}%00`,
          `?order_id=%ff%fe`,
          '?order_id=%',
          `?ORDER_ID=${id}`,
          `?${'a=1&'.repeat(3000)}`,
          `?${'a'.repeat(12_000)}`,
          `?order_id=${'['.repeat(2000)}`,
          '?query={__typename}&variables={}&extensions={"persistedQuery":{}}',
          `?query=${encodeURIComponent('{ market { offer { offers { total_count } } } }').repeat(100)}`,
        )
        .map((text) => ({ text: text.replaceAll(/[{}"\\ ]/g, encodeURIComponent), kinds: ['odd query string'] })),
    },
  )
}
