import fc from 'fast-check'
import { readFileSync } from 'node:fs'
import { type BodyField, generateBody } from './bodies.ts'
import { generateEncoding } from './encodings.ts'
import { type ValuePool, sometimes, type GeneratorContext, createContext } from './inputs.ts'
import type { JsonNode } from './json-node.ts'
import type { RouteRecord } from '../probe.ts'
import type { FuzzCaller, FuzzRequest } from '../request.ts'
import type { FuzzTarget } from './targets.ts'
import { nearMiss, invalidValue } from './values.ts'

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
  JSON.parse(readFileSync(new URL('../../../docs/api/lsps1.openapi.json', import.meta.url), 'utf8')) as OpenApi // zod schemas generate it

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND', 'TRACE']

/** Fields of bodies that OpenAPI does not describe, by path: the bodies of operators. Refusals with status 400 name them. */
export type FieldsByPath = ReadonlyMap<string, readonly BodyField[]>

/** Creates a target per method of each route, and a target per path for all other methods. Omits GraphQL. */
export function createRestTargets(
  routes: readonly RouteRecord[],
  values: ValuePool,
  fields: FieldsByPath,
): readonly FuzzTarget[] {
  const context = createContext(values)
  const openApi = readOpenApi()
  const documentedRoutes = routes.filter(
    ({ path, methods }) =>
      !methods.includes('_all') && methods.length < METHODS.length && !(path === '/graphql' && methods.includes('post')),
  )
  const ownTargets = documentedRoutes.flatMap(({ path, methods }) =>
    methods.map((method) => ({ path, methods: [method.toUpperCase()] })),
  )
  const otherTargets = [...new Set(documentedRoutes.map(({ path }) => path))].map((path) => ({
    path,
    methods: METHODS.filter(
      (method) =>
        !ownTargets.some((one) => one.path === path && one.methods.includes(method)) &&
        !(path === '/graphql' && method === 'POST'),
    ),
  }))
  const unknownPaths = [
    '/nowhere/:id',
    '/operator/nowhere',
    '/api/lsp/v1/nowhere',
    '/api/lsp/v1/recommended/:id',
    '/graphql/:id',
    '/assets/:id',
  ]
  return [
    ...ownTargets.map(({ path, methods }) =>
      createRestTarget(`${methods[0] ?? ''} ${path}`, path, methods, context, listBodyFields(path, openApi, fields)),
    ),
    ...[...otherTargets, ...unknownPaths.map((path) => ({ path, methods: METHODS }))].map(({ path, methods }) =>
      createRestTarget(`another method ${path}`, path, methods, context, listBodyFields(path, openApi, fields)),
    ),
  ]
}

const TYPE_ALIAS = /^(\/api\/lsp\/v1\/[^/]+)\/api\/v1\//

/** Finds the documented path that matches a request's path. Wallets may put `/api/v1` between the type and the method. */
export function findDocumentedPath({ servers, paths }: OpenApi, path: string): OpenApiPath | undefined {
  // The address of the server is relative to the address of the document.
  const { pathname: base } = new URL(servers[0].url, 'http://any/api/lsp/v1/openapi.json')
  const entry = Object.entries(paths).find(([template]) =>
    new RegExp(`^${base}${template.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(path.replace(TYPE_ALIAS, '$1/')),
  )
  return entry?.[1]
}

function listBodyFields(path: string, openApi: OpenApi, fields: FieldsByPath): readonly BodyField[] {
  const post = findDocumentedPath(openApi, path)?.['post']
  if (!post?.requestBody) return fields.get(path) ?? []
  const [, schema = ''] = /schemas\/(\w+)/.exec(JSON.stringify(post.requestBody)) ?? []
  return Object.entries(openApi.components.schemas[schema]?.properties ?? {}).map(([name, property]) => ({
    name,
    scalar: toScalar(property),
  }))
}

const toScalar = ({ type, anyOf }: Property): string => {
  const schemaType = type ?? anyOf?.find((one) => one.type !== 'null')?.type
  return schemaType === 'integer' ? 'Int' : schemaType === 'boolean' ? 'Boolean' : 'String'
}

function createRestTarget(
  name: string,
  path: string,
  methods: readonly string[],
  context: GeneratorContext,
  fields: readonly BodyField[],
): FuzzTarget {
  const body = generateBody(fields, context)
  const anyBody: fc.Arbitrary<JsonNode> = fc.oneof({ weight: 6, arbitrary: body }, { weight: 1, arbitrary: invalidValue })
  const generateRequests = (caller: FuzzCaller): fc.Arbitrary<FuzzRequest> =>
    fc
      .record({ method: fc.constantFrom(...methods), at: generateAddress(path, context), body: anyBody })
      .chain(({ method, at, body: node }) =>
        generateEncoding(node.json).map((encoded) => {
          const hasNoBody = method === 'GET' || method === 'HEAD' || method === 'TRACE'
          const headersWithoutBody = Object.fromEntries(
            Object.entries(encoded.headers).filter(([header]) => !header.startsWith('content-')),
          )
          return {
            target: name,
            caller,
            method,
            path: at.path,
            headers: hasNoBody ? headersWithoutBody : encoded.headers,
            body: hasNoBody ? undefined : encoded.body,
            kinds: [...at.kinds, ...(hasNoBody ? [] : [...node.kinds, ...encoded.kinds]), `method ${method}`],
          }
        }),
      )
  return { name, callers: ['stranger', 'session', 'dashboard', 'seller', 'operator'], generateRequests }
}

type GeneratedAddress = { readonly path: string; readonly kinds: readonly string[] }

/** Generates a URL path with its parameters and a query, sometimes with invalid parts. */
function generateAddress(path: string, context: GeneratorContext): fc.Arbitrary<GeneratedAddress> {
  const names = path.split('/').flatMap((part) => (part.startsWith(':') ? [part.slice(1)] : []))
  return fc
    .record({
      filled: fc.tuple(...names.map((name) => generatePathValue(name, context))),
      query: generateQuery(context),
      around: sometimes(12, fc.constantFrom(...PATH_VARIANTS)),
      odd: sometimes(
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
    .map(({ filled, query, around: vary, odd: suffix }) => ({
      path:
        (vary ?? ((plain) => plain))(
          path
            .replaceAll(/:\w+/g, () => '\u0000')
            .split('\u0000')
            .flatMap((part, at) => [part, filled[at]?.text ?? ''])
            .join(''),
        ) +
        (suffix ?? '') +
        query.text,
      kinds: [...filled.map(({ kind }) => kind), ...query.kinds, ...((suffix ?? vary) ? ['odd address'] : [])],
    }))
}

/** Variants of the same path that could bypass a check of paths. */
const PATH_VARIANTS: readonly ((path: string) => string)[] = [
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

const generatePathValue = (
  name: string,
  { values, anyValue }: GeneratorContext,
): fc.Arbitrary<{ text: string; kind: string }> => {
  const knownValues = values.get(name) ?? ['x']
  const text = ({ json }: JsonNode) => encodeURIComponent(json.replaceAll(/^"|"$/g, '').slice(0, 4000).toWellFormed())
  return fc.oneof(
    { weight: 4, arbitrary: fc.constantFrom(...knownValues).map((value) => ({ text: value, kind: 'right value' })) },
    {
      weight: 2,
      arbitrary: fc
        .constantFrom(...knownValues)
        .chain(nearMiss)
        .map((value) => ({ text: text(value), kind: 'nearly right' })),
    },
    { weight: 1, arbitrary: anyValue.map((value) => ({ text: encodeURIComponent(value), kind: 'value of another field' })) },
    { weight: 2, arbitrary: invalidValue.map((value) => ({ text: text(value), kind: value.kinds[0] ?? '' })) },
  )
}

const generateQuery = ({ values }: GeneratorContext): fc.Arbitrary<{ text: string; kinds: readonly string[] }> => {
  const [id = ''] = values.get('order_id') ?? []
  const ids = values.get('order_id') ?? ['']
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
