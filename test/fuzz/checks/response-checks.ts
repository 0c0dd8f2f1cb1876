import { Ajv2020 } from 'ajv/dist/2020.js'
import { findDocumentedPath, type OpenApi } from '../generators/rest-targets.ts'
import type { Operation } from '../generators/schema.ts'
import type { FuzzResponse, FuzzRequest } from '../request.ts'

/** Checks of an answer. Each function returns a violation, or undefined. */

/** Internal words that no answer may contain: files, libraries, classes, SQL statements, and errors of JavaScript. */
export const INTERNAL_WORDS =
  /node_modules|\bat [\w.<>]+ \(|\.(?:ts|mjs|js):\d|sqlite|kysely|express|apollo|\bzod\b|TypeError|RangeError|ReferenceError|SyntaxError|Cannot read|is not a function|is not iterable|of undefined|\[object |ENOENT|EMFILE|\bselect [^>]{1,80} from\b|\binsert into\b|unique constraint|\bBigInt\b|stacktrace/i
const ERROR_CODES: ReadonlySet<unknown> = new Set([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_SERVER_ERROR',
])
const ERROR_EXTENSIONS: ReadonlySet<string> = new Set(['code', 'reason', 'transaction_id', 'session_key', 'retry_after'])

type ResponseCheck = (response: FuzzResponse, request: FuzzRequest) => string | undefined

export const createResponseCheck =
  (openApi: OpenApi): ResponseCheck =>
  (response, request) => {
    // Routes match in any letter case.
    const path = collapseApiSlashes(request.path.replace(/[?#].*$/s, ''))
      .replace(/(.)\/$/, '$1')
      .toLowerCase()
    // An answer may repeat an internal word that its request contains.
    const internalWord = INTERNAL_WORDS.exec(response.text)?.[0]
    const isAsset =
      /^\/(?:graphql\/|assets\/)/.test(path) || (path.startsWith('/graphql') && response.type.startsWith('text/html'))
    if (internalWord !== undefined && !isAsset && !isEcho(request, internalWord)) return `it shows "${internalWord}"`
    // Node itself refuses a request that it cannot parse, before any code of Penstock runs.
    if (response.text === '' && response.type === '' && [400, 417, 431].includes(response.status)) return undefined
    if (response.status === 304 && response.text === '' && 'if-none-match' in request.headers) return undefined
    if (request.method === 'OPTIONS' && (response.status === 204 || /^[A-Z, ]+$/.test(response.text))) return undefined
    if (request.method === 'HEAD')
      return response.text === '' && response.status < 500 ? undefined : 'HEAD has a body or is a fault'
    return (selectCheck(path, openApi) ?? checkPlain)(response, request)
  }

/** Only the paths of the APIs may have several slashes for one. */
const collapseApiSlashes = (path: string): string =>
  /^\/+(?:graphql|api\/+lsp)(?:\/|$)/.test(path) ? path.replace(/\/{2,}/g, '/') : path

const isEcho = ({ body, path }: FuzzRequest, text: string): boolean =>
  (typeof body === 'string' ? body : Buffer.from(body ?? '').toString()).includes(text) ||
  decodeURI(path.replaceAll('%', '')).includes(text)

function selectCheck(path: string, openApi: OpenApi): ResponseCheck | undefined {
  if (path === '/graphql') return checkGraphql
  if (path.startsWith('/api/lsp/v1')) return createLspCheck(openApi, path)
  if (/^\/operator(?:\/|$)/.test(path)) return checkOperator
  return normalisePath(path).startsWith('/operator') ? checkOperatorBypass : undefined
}

/** Normalises a path as a lenient server may: decodes it, removes empty parts, and applies `..`. */
function normalisePath(path: string): string {
  const decoded = path.replaceAll(/%([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  const parts: string[] = []
  for (const part of decoded.toLowerCase().split(/[/\\]/)) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/**
 * Checks GraphQL answers. Each error has one of four codes and a sentence. Valid HTTP gets status 200, except for a wrong
 * method, size or content type. Browsers get the page of the GraphQL explorer.
 */
const checkGraphql: ResponseCheck = ({ status, type, text }, { method }) => {
  if (method === 'GET' && type.startsWith('text/html')) return status === 200 ? undefined : `the explorer is ${status}`
  const allowed = method === 'POST' ? [200, 413, 415] : method === 'GET' ? [200, 405] : [405]
  if (!allowed.includes(status)) return `status ${status}`
  const body = parseJson(text)
  if (!type.startsWith('application/json') || !isObject(body)) return `not a JSON object: ${type}`
  const { errors } = body
  if (errors === undefined) return isObject(body['data']) ? undefined : 'neither data nor errors'
  if (!Array.isArray(errors) || errors.length === 0) return 'errors is not a list'
  return errors.map(checkError).find((violation) => violation !== undefined)
}

function checkError(error: unknown): string | undefined {
  if (!isObject(error) || typeof error['message'] !== 'string' || !isObject(error['extensions']))
    return 'an error has an unexpected form'
  const { message, extensions } = error
  if (!ERROR_CODES.has(extensions['code'])) return `code ${String(extensions['code'])}`
  const isBusy = Number.isInteger(extensions['retry_after']) && Number(extensions['retry_after']) > 0
  if (extensions['code'] === 'INTERNAL_SERVER_ERROR' && !isBusy) return `an internal error: ${message}`
  const unknownExtensions = Object.keys(extensions).filter((name) => !ERROR_EXTENSIONS.has(name))
  if (unknownExtensions.length > 0) return `extensions with ${unknownExtensions.join(', ')}`
  return message.length >= 5 && message.length <= 301 ? undefined : `a message of ${message.length} characters`
}

/** Checks LSPS1 answers by the OpenAPI document. It contains status 500 for no available seller; other 5xx are violations. */
function createLspCheck(openApi: OpenApi, path: string): ResponseCheck {
  return ({ status, type, text }, { method }) => {
    if (path.startsWith('/api/lsp/v1/openapi.json') && status === 200) return undefined
    const body = parseJson(text)
    if (!type.startsWith('application/json') || !isObject(body)) return `not a JSON object: ${status} ${type}`
    const operation = findDocumentedPath(openApi, path)?.[method.toLowerCase()]
    const isKnown = operation ? String(status) in operation.responses : [400, 404, 405].includes(status)
    if (!isKnown) return `status ${status} is not documented`
    const name = status === 200 ? (/schemas\/(\w+)/.exec(JSON.stringify(operation?.responses['200']))?.[1] ?? '') : 'LspError'
    const check = getValidator(openApi, name)
    if (!check(body)) return `no ${name}: ${text.slice(0, 200)}`
    const { error } = body
    if (status >= 500 && !(status === 500 && isObject(error) && error['code'] === 1)) return `a fault: ${text.slice(0, 200)}`
    return isObject(error) && body['statusCode'] !== status ? 'statusCode is not the status' : undefined
  }
}

const validators = new Map<string, (value: unknown) => boolean>()
function getValidator(openApi: OpenApi, name: string): (value: unknown) => boolean {
  const cached = validators.get(name)
  if (cached) return cached
  const compiled = new Ajv2020({ strict: false, validateFormats: false }).compile({ ...openApi.components.schemas[name] })
  const check = (value: unknown): boolean => compiled(value) === true
  validators.set(name, check)
  return check
}

/** Checks answers of the operator's routes: the operator gets a sentence, and every other caller only 401. */
const checkOperator: ResponseCheck = ({ status, type, text }, { caller, path }) => {
  const isMetrics = /^\/operator\/metrics(?:$|[/?#])/i.test(path)
  if (isMetrics && caller === 'operator' && status === 200)
    return type.startsWith('text/plain') ? undefined : `metrics as ${type}`
  const body = parseJson(text)
  if (!type.startsWith('application/json') || body === undefined) return `not JSON: ${status} ${type}`
  if (caller !== 'operator' && status !== 401) return `a caller without the operator's token gets ${status}`
  if (status < 300) return undefined
  if (![400, 401, 404, 413, 415, 422].includes(status)) return `status ${status}: ${text.slice(0, 200)}`
  const error = isObject(body) ? body['error'] : undefined
  return typeof error === 'string' && error.length >= 5 && error.length < 2000 ? undefined : `no sentence: ${text.slice(0, 200)}`
}

/** Checks that no variant of a path reaches the operator's routes. The answer is 404, and a browser gets a page. */
const checkOperatorBypass: ResponseCheck = ({ status, type, text }, { headers }) => {
  const isPage = status === 404 && type.startsWith('text/html') && /<title>Not found\b/.test(text)
  if (isPage && headers['accept'] === 'text/html') return undefined
  return [400, 401, 404, 405, 413, 415].includes(status) && type.startsWith('application/json') && isObject(parseJson(text))
    ? undefined
    : `the operator's check was bypassed: ${status} ${type} ${text.slice(0, 200)}`
}

/** Checks pages, event streams, health checks and unknown addresses. */
const checkPlain: ResponseCheck = ({ status, type, text }) => {
  if (status >= 500 || status < 200) return `status ${status}: ${text.slice(0, 200)}`
  if (text === '' && (status === 404 || status === 429)) return undefined // a page's events have ended, or too many streams
  if (type.startsWith('application/json')) return isObject(parseJson(text)) ? undefined : 'not a JSON object'
  return /^text\/(?:html|plain|css|javascript|event-stream)|^image\/svg/.test(type) ? undefined : `${status} of type "${type}"`
}

/** Lists the results of an operation in an answer, under any alias, without the `id` of the namespace. */
export function listResults({ text }: FuzzResponse, { path }: Operation): readonly unknown[] {
  const inner = path
    .slice(0, -1)
    .reduce<unknown>((level, name) => (isObject(level) ? level[name] : undefined), readData({ text }))
  return isObject(inner)
    ? Object.entries(inner).flatMap(([name, one]) => (name === 'id' || one === null || one === undefined ? [] : [one]))
    : []
}

/** Returns the `data` of a GraphQL answer, or undefined. */
export function readData({ text }: Pick<FuzzResponse, 'text'>): unknown {
  const body = parseJson(text)
  return isObject(body) ? body['data'] : undefined
}

/** Collects all texts in a value. */
export const collectTexts = (value: unknown): readonly string[] =>
  typeof value === 'string'
    ? [value]
    : typeof value === 'object' && value !== null
      ? Object.values(value).flatMap(collectTexts)
      : []

/** Lists the ids of orders in a refusal. These orders were placed, and then withdrawn. */
export const listWithdrawnOrderIds = ({ text }: FuzzResponse): readonly string[] =>
  [...text.matchAll(/"transaction_id":"([^"]+)"/g)].flatMap(([, id]) => (id === undefined ? [] : [id]))
