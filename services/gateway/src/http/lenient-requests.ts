import type { RequestHandler } from 'express'

/** Types whose text is always UTF-8. */
const UTF8_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/x-www-form-urlencoded'])
const UTF8_NAMES: ReadonlySet<string> = new Set(['', 'utf8', 'utf-8', 'utf_8', 'us-ascii', 'ascii'])

/**
 * Writes the usual forms of the header Content-Type in one form. Clients write `utf8`, quotes, capitals or other parameters; the
 * body parsers would refuse some of them.
 */
export const normalizeContentType: RequestHandler = ({ headers }, _, next) => {
  const [type = '', ...parameters] = (headers['content-type'] ?? '').split(';').map((part) => part.trim().toLowerCase())
  const isUtf8 = UTF8_NAMES.has(readCharset(parameters))
  if (UTF8_TYPES.has(type) && isUtf8) headers['content-type'] = `${type}; charset=utf-8`
  next()
}

const readCharset = (parameters: readonly string[]): string => {
  const value = parameters.find((one) => /^charset\s*=/.test(one))?.replace(/^charset\s*=\s*/, '')
  return value?.replace(/^(["'])(.*)\1$/, '$2').trim() ?? ''
}

/** Paths of programs, which join a base address and a path. Other paths, such as those of operators, stay strict. */
const API_PATH = /^\/+(?:graphql|api\/+lsp)(?=[/?]|$)/

/** Takes several slashes in the path of an API for one: a base address that ends in a slash leads to them. */
export const collapseSlashes: RequestHandler = (request, _, next) => {
  if (API_PATH.test(request.url)) request.url = request.url.replace(/^[^?]*/, (path) => path.replace(/\/{2,}/g, '/'))
  next()
}
