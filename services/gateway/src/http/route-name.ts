const LSP_PATH = /^\/api\/lsp\/v1\/[a-z]{1,20}(?:\/api\/v1)?\/(get_info|get_order|create_order)$/
const PAGE_PATH = /^\/(checkout|orders)\/[^/]+(\/events)?$/

/**
 * Returns the route name of a path for metrics and traces. It is one of a few names, and never contains an id or token of
 * the path.
 */
export function toRouteName(path: string): string {
  const normalised = path.toLowerCase().replace(/\/+$/, '')
  if (normalised === '') return '/'
  if (normalised === '/graphql' || normalised === '/healthz' || normalised === '/readyz') return normalised
  if (normalised.startsWith('/graphql/')) return '/graphql/:asset'
  if (normalised.startsWith('/operator/')) return '/operator/:route'
  const [, operation] = LSP_PATH.exec(normalised) ?? []
  if (operation !== undefined) return `/api/lsp/v1/:type/${operation}`
  const [, page, events = ''] = PAGE_PATH.exec(normalised) ?? []
  return page === undefined ? 'other' : `/${page}/:token${events}`
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])
export const toMethodName = (method: string): string => (METHODS.has(method) ? method : 'other')
