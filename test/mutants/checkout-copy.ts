import { cpSync, existsSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, readlinkSync, realpathSync } from 'node:fs'
import { rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, isAbsolute, join } from 'node:path'
import { listCheckoutFiles } from '../support/git.ts'

/** The root folder of the checkout. */
export const CHECKOUT_ROOT = join(import.meta.dirname, '../..')

export type CheckoutCopy = { readonly folder: string; remove(): void }

/**
 * Copies the checkout with its uncommitted changes into a temporary folder. In the copy, links to workspace packages lead to
 * the copied packages. The copy shares only the installed packages with the checkout.
 */
export function copyCheckoutToTemp(): CheckoutCopy {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'penstock-mutants-')))
  const files = listCheckoutFiles(CHECKOUT_ROOT)
  for (const path of files) {
    mkdirSync(join(folder, dirname(path)), { recursive: true })
    cpSync(join(CHECKOUT_ROOT, path), join(folder, path), { recursive: true, verbatimSymlinks: true })
  }
  for (const path of files.filter((file) => /(^|\/)package\.json$/.test(file))) {
    const modulesFolder = join(dirname(path), 'node_modules')
    if (existsSync(join(CHECKOUT_ROOT, modulesFolder)))
      linkModules(join(CHECKOUT_ROOT, modulesFolder), join(folder, modulesFolder))
  }
  return { folder, remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }) }
}

/** The store of installed packages, which no test changes. */
const PNPM_STORE = '.pnpm'

function linkModules(from: string, to: string): void {
  mkdirSync(to, { recursive: true })
  for (const name of readdirSync(from)) {
    const [source, target] = [join(from, name), join(to, name)]
    if (name === PNPM_STORE) symlinkSync(source, target)
    else if (lstatSync(source).isSymbolicLink()) recreateLink(source, target)
    // Caches and commands are not copied. The folder of an npm scope contains links.
    else if (name.startsWith('@')) linkModules(source, target)
  }
}

function recreateLink(source: string, target: string): void {
  const to = readlinkSync(source)
  if (isAbsolute(to)) throw new Error(`${source} is an absolute link, by which a copy would use the packages of this checkout.`)
  symlinkSync(to, target)
}
