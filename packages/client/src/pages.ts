import type { CallOptions, Page } from './operation.ts'

type PageRequest = { readonly limit?: number | null | undefined; readonly offset?: number | null | undefined }
/** The arguments of a paged operation. */
export type PagedArguments = { readonly page?: PageRequest | null | undefined }
type ReadPage = (args: PagedArguments, options?: CallOptions) => Promise<Page>

const LARGEST_PAGE = 100

/** Reads one page after the other until the end of the list. */
export async function* iteratePages(
  readPage: ReadPage,
  args: PagedArguments = {},
  options?: CallOptions,
): AsyncGenerator<Page, void, undefined> {
  const limit = args.page?.limit ?? LARGEST_PAGE
  let offset = args.page?.offset ?? 0
  for (;;) {
    const page = await readPage({ ...args, page: { limit, offset } }, options)
    yield page
    offset += page.list.length
    if (page.list.length === 0 || offset >= page.total_count) return
  }
}

/**
 * Reads the entries of all pages, each once. New entries move the others back, so a page may repeat entries of earlier ones. A
 * deletion moves entries forward, and those that move to an earlier page are not returned.
 */
export async function* iterateEntries(
  readPage: ReadPage,
  args?: PagedArguments,
  options?: CallOptions,
): AsyncGenerator<unknown, void, undefined> {
  const returned = new Set<unknown>()
  for await (const { list } of iteratePages(readPage, args, options)) {
    for (const entry of list) {
      const { id } = entry as { readonly id: unknown } // every record of the API has an id
      if (returned.has(id)) continue
      returned.add(id)
      yield entry
    }
  }
}
