const KINDS = /^\/api\/lsp\/v1\/[a-z]{1,20}\/(get_info|get_order|create_order)$/
const PAGES = /^\/(checkout|orders)\/[^/]+(\/events)?$/

/**
 * An address as metrics and traces name it: one of a few names, whatever somebody asks for. Ids and tokens of addresses
 * never get into them.
 */
export function routeName(path: string): string {
  const plain = path.toLowerCase().replace(/\/+$/, '')
  if (plain === '') return '/'
  if (plain === '/graphql' || plain === '/healthz' || plain === '/readyz') return plain
  if (plain.startsWith('/graphql/')) return '/graphql/:asset'
  if (plain.startsWith('/operator/')) return '/operator/:route'
  const [, operation] = KINDS.exec(plain) ?? []
  if (operation !== undefined) return `/api/lsp/v1/:type/${operation}`
  const [, page, events = ''] = PAGES.exec(plain) ?? []
  return page === undefined ? 'other' : `/${page}/:token${events}`
}

const METHODS: ReadonlySet<string> = new Set(['GET', 'HEAD', 'POST', 'OPTIONS'])
export const methodName = (method: string): string => (METHODS.has(method) ? method : 'other')
