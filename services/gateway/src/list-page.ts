import { invalidInput } from './errors.ts'
import type { PageInput } from './generated/schema-types.ts'

export type Page = { readonly limit: number; readonly offset: number }
/** A page as the API shows it, with its own id. */
export type Pagination = Page & { readonly id: string }

const MAX_PAGE_SIZE = 100

/** Parses the page of a list: by default 10 entries from 0, at most 100. */
export function parsePage(page: PageInput | null | undefined): Page {
  const limit = page?.limit ?? 10
  const offset = page?.offset ?? 0
  if (limit < 1 || limit > MAX_PAGE_SIZE) throw invalidInput(`page.limit must be from 1 to ${MAX_PAGE_SIZE}`)
  if (offset < 0) throw invalidInput('page.offset must be 0 or more')
  return { limit, offset }
}

/** Describes a list for the API. Each page and each filter has its own id, so that a client's cache distinguishes them. */
export function describeList(name: string, { limit, offset }: Page, filter: object = {}): { id: string; pagination: Pagination } {
  const filterParts = Object.entries(filter).flatMap(([key, value]) => (value === undefined ? [] : [`${key}=${String(value)}`]))
  const id = [name, `limit=${limit}`, `offset=${offset}`, ...filterParts.toSorted()].join('/')
  return { id, pagination: { id, limit, offset } }
}

/** A page of a list, with the number of entries of the whole list. */
export type ListPage<T> = { readonly total: number; readonly list: readonly T[] }

/** Counts all entries. A first page that is not full contains all entries, and needs no query. */
export async function countTotal(
  { limit, offset }: Page,
  found: number,
  count: () => Promise<{ readonly total: string | number | bigint }>,
): Promise<number> {
  return offset === 0 && found < limit ? found : Number((await count()).total)
}
