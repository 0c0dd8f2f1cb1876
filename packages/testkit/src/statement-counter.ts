import type { Views } from '@penstock/ports/views.ts'

type Plugin = Parameters<Views['db']['withPlugin']>[0]

/** Counts the statements of a database, without the beginnings and ends of transactions. */
export function countStatements(views: Views): { readonly views: Views; readonly count: () => number } {
  let count = 0
  const plugin: Plugin = {
    transformQuery: ({ node }) => node,
    transformResult({ result }) {
      count++
      return Promise.resolve(result)
    },
  }
  return { views: { ...views, db: views.db.withPlugin(plugin) }, count: () => count }
}
