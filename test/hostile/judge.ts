import { Ajv2020 } from 'ajv/dist/2020.js'
import { documented, type OpenApi } from './rest.ts'
import type { Operation } from './schema.ts'
import type { Answer, Shot } from './shot.ts'

/** What an answer must never be. Each function returns what is wrong with it, or undefined. */

/** Words of the inside: files, libraries, classes, statements, and how the language itself complains. */
export const INSIDE =
  /node_modules|\bat [\w.<>]+ \(|\.(?:ts|mjs|js):\d|sqlite|kysely|express|apollo|\bzod\b|TypeError|RangeError|ReferenceError|SyntaxError|Cannot read|is not a function|is not iterable|of undefined|\[object |ENOENT|EMFILE|\bselect [^>]{1,80} from\b|\binsert into\b|unique constraint|\bBigInt\b|stacktrace/i
const CODES: ReadonlySet<unknown> = new Set([
  'UNAUTHENTICATED',
  'FORBIDDEN',
  'GRAPHQL_VALIDATION_FAILED',
  'INTERNAL_SERVER_ERROR',
])

type Judge = (answer: Answer, shot: Shot) => string | undefined

export const judgeAll =
  (openApi: OpenApi): Judge =>
  (answer, shot) => {
    // Routes are found whatever their letters' case.
    const path = shot.path
      .replace(/[?#].*$/s, '')
      .replace(/(.)\/$/, '$1')
      .toLowerCase()
    // What was sent may come back in a sentence; pages show nothing of it.
    const shown = INSIDE.exec(answer.text)?.[0]
    const isAsset = /^\/(?:graphql\/|assets\/)/.test(path) || (path.startsWith('/graphql') && shot.method === 'GET')
    if (shown !== undefined && !isAsset && !isEcho(shot, shown)) return `it shows "${shown}"`
    // Node itself turns away what it cannot read, before any of ours.
    if (answer.text === '' && answer.type === '' && [400, 417, 431].includes(answer.status)) return undefined
    if (answer.status === 304 && answer.text === '' && 'if-none-match' in shot.headers) return undefined
    if (shot.method === 'OPTIONS' && (answer.status === 204 || /^[A-Z, ]+$/.test(answer.text))) return undefined
    if (shot.method === 'HEAD') return answer.text === '' && answer.status < 500 ? undefined : 'HEAD has a body or is a fault'
    return (judgeOf(path, openApi) ?? plainly)(answer, shot)
  }

const isEcho = ({ body, path }: Shot, word: string): boolean =>
  (typeof body === 'string' ? body : Buffer.from(body ?? '').toString()).includes(word) ||
  decodeURI(path.replaceAll('%', '')).includes(word)

function judgeOf(path: string, openApi: OpenApi): Judge | undefined {
  if (path === '/graphql') return graphqlAnswer
  if (path.startsWith('/api/lsp/v1')) return lspAnswer(openApi, path)
  if (/^\/operator(?:\/|$)/.test(path)) return operatorAnswer
  return plainPath(path).startsWith('/operator') ? aroundTheDoor : undefined
}

/** What somebody may take a path for who decodes it, leaves out what is empty, and goes up where it says so. */
function plainPath(path: string): string {
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

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** One of four codes and a sentence, and 200 for all that is well-formed HTTP. */
const graphqlAnswer: Judge = ({ status, type, text }, { method }) => {
  if (method === 'GET') return status === 200 && type.startsWith('text/html') ? undefined : `the explorer is ${status} ${type}`
  const allowed = method === 'POST' ? [200, 413, 415] : [405]
  if (!allowed.includes(status)) return `status ${status}`
  const body = parsed(text)
  if (!type.startsWith('application/json') || !isObject(body)) return `not a JSON object: ${type}`
  const { errors } = body
  if (errors === undefined) return isObject(body['data']) ? undefined : 'neither data nor errors'
  if (!Array.isArray(errors) || errors.length === 0) return 'errors is no list'
  return errors.map(wrongError).find((wrong) => wrong !== undefined)
}

function wrongError(error: unknown): string | undefined {
  if (!isObject(error) || typeof error['message'] !== 'string' || !isObject(error['extensions']))
    return 'an error has another form'
  const { message, extensions } = error
  if (!CODES.has(extensions['code'])) return `code ${String(extensions['code'])}`
  if (extensions['code'] === 'INTERNAL_SERVER_ERROR') return `an internal error: ${message}`
  const more = Object.keys(extensions).filter((name) => !['code', 'reason', 'transaction_id', 'session_key'].includes(name))
  if (more.length > 0) return `extensions with ${more.join(', ')}`
  return message.length >= 5 && message.length <= 301 ? undefined : `a message of ${message.length} characters`
}

/** Answers as the OpenAPI document writes them. It has a refusal with 500, where nobody can serve; a fault of ours is none. */
function lspAnswer(openApi: OpenApi, path: string): Judge {
  return ({ status, type, text }, { method }) => {
    if (path.startsWith('/api/lsp/v1/openapi.json') && status === 200) return undefined
    const body = parsed(text)
    if (!type.startsWith('application/json') || !isObject(body)) return `not a JSON object: ${status} ${type}`
    const operation = documented(openApi, path)?.[method.toLowerCase()]
    const isKnown = operation ? String(status) in operation.responses : [400, 404, 405].includes(status)
    if (!isKnown) return `status ${status} is in no document`
    const name = status === 200 ? (/schemas\/(\w+)/.exec(JSON.stringify(operation?.responses['200']))?.[1] ?? '') : 'LspError'
    const check = validatorOf(openApi, name)
    if (!check(body)) return `no ${name}: ${text.slice(0, 200)}`
    const { error } = body
    if (status >= 500 && !(status === 500 && isObject(error) && error['code'] === 1)) return `a fault: ${text.slice(0, 200)}`
    return isObject(error) && body['statusCode'] !== status ? 'statusCode is not the status' : undefined
  }
}

const validators = new Map<string, (value: unknown) => boolean>()
function validatorOf(openApi: OpenApi, name: string): (value: unknown) => boolean {
  const known = validators.get(name)
  if (known) return known
  const made = new Ajv2020({ strict: false, validateFormats: false }).compile({ ...openApi.components.schemas[name] })
  const check = (value: unknown): boolean => made(value) === true
  validators.set(name, check)
  return check
}

/** A sentence for the operator; who is none learns only that. */
const operatorAnswer: Judge = ({ status, type, text }, { caller, path }) => {
  const isMetrics = /^\/operator\/metrics(?:$|[/?#])/i.test(path)
  if (isMetrics && caller === 'operator' && status === 200)
    return type.startsWith('text/plain') ? undefined : `metrics as ${type}`
  const body = parsed(text)
  if (!type.startsWith('application/json') || body === undefined) return `not JSON: ${status} ${type}`
  if (caller !== 'operator' && status !== 401) return `a stranger gets ${status}`
  if (status < 300) return undefined
  if (![400, 401, 404, 413, 415, 422].includes(status)) return `status ${status}: ${text.slice(0, 200)}`
  const error = isObject(body) ? body['error'] : undefined
  return typeof error === 'string' && error.length >= 5 && error.length < 2000 ? undefined : `no sentence: ${text.slice(0, 200)}`
}

/** No other way leads to what is the operator's, whoever tries it: there is nothing, which people are told by a page. */
const aroundTheDoor: Judge = ({ status, type, text }, { headers }) => {
  const isPage = status === 404 && type.startsWith('text/html') && /<title>Not found\b/.test(text)
  if (isPage && headers['accept'] === 'text/html') return undefined
  return [400, 401, 404, 405, 413, 415].includes(status) && type.startsWith('application/json') && isObject(parsed(text))
    ? undefined
    : `around the operator's door: ${status} ${type} ${text.slice(0, 200)}`
}

/** Pages, streams, health, and what is nowhere. */
const plainly: Judge = ({ status, type, text }) => {
  if (status >= 500 || status < 200) return `status ${status}: ${text.slice(0, 200)}`
  if (text === '' && (status === 404 || status === 429)) return undefined // where a page's events end, and beyond so many of them
  if (type.startsWith('application/json')) return isObject(parsed(text)) ? undefined : 'no JSON object'
  return /^text\/(?:html|plain|css|javascript|event-stream)|^image\/svg/.test(type) ? undefined : `${status} of type "${type}"`
}

/** Results of an operation that an answer shows, under whatever alias: a namespace has an `id` beside them. */
export function resultsOf({ text }: Answer, { path }: Operation): readonly unknown[] {
  const inner = path.slice(0, -1).reduce<unknown>((level, name) => (isObject(level) ? level[name] : undefined), dataOf({ text }))
  return isObject(inner)
    ? Object.entries(inner).flatMap(([name, one]) => (name === 'id' || one === null || one === undefined ? [] : [one]))
    : []
}

/** What a GraphQL answer shows. */
export function dataOf({ text }: Pick<Answer, 'text'>): unknown {
  const body = parsed(text)
  return isObject(body) ? body['data'] : undefined
}

/** All texts in a value. */
export const textsIn = (value: unknown): readonly string[] =>
  typeof value === 'string' ? [value] : typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsIn) : []

/** Orders that came to be although the answer is a refusal, which tells them. */
export const leftBehind = ({ text }: Answer): readonly string[] =>
  [...text.matchAll(/"transaction_id":"([^"]+)"/g)].flatMap(([, id]) => (id === undefined ? [] : [id]))
