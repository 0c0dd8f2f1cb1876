import { isList, isObject, type Json, member } from '../json.ts'
import type { Answer, Client } from './client.ts'
import { Trouble } from './trouble.ts'

/** The two public interfaces of a market, and its operator's, as JSON. Whatever is no good answer is thrown as Trouble. */
export type Market = {
  /** @returns `data` */
  graphql(query: string, variables: object, bearer?: string): Promise<Json>
  lsps1(method: 'GET' | 'POST', path: string, body?: object): Promise<Json>
  /** @param url as the market gave it; only its path is used, on the address that is loaded */
  page(url: string): Promise<void>
  /** null: there is no operator's token, or the market takes none. */
  readonly operator: Operator | null
}
export type Operator = (method: 'GET' | 'POST', path: string, body?: object) => Promise<Json>

/** An audit reads all that was ever recorded. */
const AUDIT_TIMEOUT_MS = 10 * 60 * 1000

export type Doors = {
  /** For buyers and sellers. */
  readonly front: Client
  /** For the operator, whose requests are no load, and are not broken off: a payment that was sent has to be known. */
  readonly back: Client
  readonly token: string | undefined
}

export function openMarket({ front, back, token }: Doors): Market {
  return {
    async graphql(query, variables, bearer) {
      const answer = await front.send('POST', '/graphql', { body: { query, variables }, bearer })
      refuseLimits(answer)
      const body = jsonOf(answer)
      const error = first(member(body, 'errors'))
      if (error !== null) throw graphqlTrouble(error)
      if (answer.status !== 200) throw httpTrouble(answer)
      return member(body, 'data')
    },
    async lsps1(method, path, body) {
      const answer = await front.send(method, `/api/lsp/v1${path}`, body && { body })
      refuseLimits(answer)
      if (answer.status !== 200 && answer.status !== 201) throw httpTrouble(answer)
      return jsonOf(answer)
    },
    async page(url) {
      const { pathname, search } = new URL(url)
      const answer = await front.send('GET', `${pathname}${search}`)
      refuseLimits(answer)
      if (answer.status !== 200) throw httpTrouble(answer)
    },
    operator:
      token === undefined
        ? null
        : async (method, path, body) => {
            const patience = path.startsWith('/audit/') && { timeoutMs: AUDIT_TIMEOUT_MS }
            const answer = await back.send(method, `/operator${path}`, { bearer: token, ...patience, ...(body && { body }) })
            if (answer.status !== 200) throw httpTrouble(answer)
            return jsonOf(answer)
          },
  }
}

/** The text at a path of members, as `a.b.c`. @throws Trouble where there is none */
export function textAt(json: Json, path: string): string {
  const found = at(json, path)
  if (typeof found !== 'string') throw new Trouble('unexpected answer', `the answer has no text at ${path}`)
  return found
}

/** What can be said in one word, at a path of members; '-' where nothing is. */
export function wordAt(json: Json, path: string): string {
  const found = at(json, path)
  return typeof found === 'string' || typeof found === 'number' ? `${found}` : '-'
}

/** @returns what is at a path of members, null where nothing is */
export const at = (json: Json, path: string): Json => path.split('.').reduce<Json>((found, name) => member(found, name), json)

function refuseLimits({ status, headers }: Answer): void {
  if (status !== 429) return
  const seconds = Number(headers['retry-after'])
  throw new Trouble('throttled', 'the market asks for a pause', Number.isFinite(seconds) && seconds > 0 ? seconds * 1000 : null)
}

/** A market that counts unpaid orders asks for nothing but patience. */
const LIMIT_REASONS = new Set(['TOO_MANY_ORDERS'])

function graphqlTrouble(error: Json): Trouble {
  const code = at(error, 'extensions.code')
  const reason = at(error, 'extensions.reason')
  const message = at(error, 'message')
  const text = typeof message === 'string' ? message : 'the market says nothing about it'
  if (typeof reason === 'string' && LIMIT_REASONS.has(reason)) return new Trouble(reason, text, null)
  return new Trouble(typeof reason === 'string' ? reason : typeof code === 'string' ? code : 'no code', text)
}

function httpTrouble({ status, text, headers }: Answer): Trouble {
  const body = parsed(text)
  const sentence = [at(body ?? null, 'message'), at(body ?? null, 'error')].find((found) => typeof found === 'string')
  const where = headers.location === undefined ? '' : ` to ${headers.location}, which is not followed`
  return new Trouble(`HTTP ${status}`, `${sentence ?? `HTTP ${status}`}${where}`)
}

function jsonOf({ status, text }: Answer): Json {
  const body = parsed(text)
  if (body === undefined || (!isObject(body) && !isList(body)))
    throw new Trouble(`HTTP ${status}`, `HTTP ${status} without JSON in it`)
  return body
}

function parsed(text: string): Json | undefined {
  try {
    return JSON.parse(text) as Json // JSON.parse yields nothing else
  } catch {
    return undefined
  }
}

const first = (list: Json): Json => (isList(list) ? (list[0] ?? null) : null)
