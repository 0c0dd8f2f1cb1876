import { execFile, execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readFile, rename, rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const pom = join(import.meta.dirname, 'kafka.pom.xml')
const MIN_JAVA = 17

/**
 * Downloads the jars of a broker into the cache, once per version. It renames a partial folder at the end, so that an
 * interrupted or parallel run never leaves an incomplete folder.
 * @returns the class path
 * @throws Error if neither the cache nor Maven has the jars
 */
export async function installKafka(): Promise<string> {
  const { version, jars } = await findInstallation()
  if (existsSync(jars)) return join(jars, '*')
  await mkdir(join(jars, '..'), { recursive: true })
  const partial = await mkdtemp(`${jars}.partial-`)
  try {
    const flags = ['-DincludeScope=runtime', `-Dkafka.version=${version}`, `-DoutputDirectory=${partial}`]
    await run('mvn', ['-q', '-B', '-f', pom, 'dependency:copy-dependencies', ...flags])
    await chmod(partial, 0o755)
    await rename(partial, jars)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    // If the jars exist now, another process has just installed them.
    if (!existsSync(jars)) throw error
  }
  return join(jars, '*')
}

/** @returns the reason why no broker can run on this machine, as a sentence; undefined if a broker can run */
export async function explainMissingKafka(): Promise<string | undefined> {
  const java = readFirstLine('java', ['-version'])
  const major = Number(/version "(\d+)/.exec(java ?? '')?.[1] ?? 0)
  if (major < MIN_JAVA) return `Kafka needs Java ${MIN_JAVA} or newer, and here is ${java ?? 'none'}.`
  if (existsSync((await findInstallation()).jars) || readFirstLine('mvn', ['-version'])) return undefined
  return 'Kafka needs Maven once, to get its jars, and there is none.'
}

async function findInstallation(): Promise<{ readonly version: string; readonly jars: string }> {
  const version = /<kafka\.version>(.+?)<\//.exec(await readFile(pom, 'utf8'))?.[1]
  if (version === undefined) throw new Error(`${pom} names no kafka.version`)
  const cache = process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache')
  return { version, jars: join(cache, 'penstock', 'kafka', version) }
}

/** @returns the first line of output, for version numbers; undefined if the program fails. Java prints to standard error. */
function readFirstLine(program: string, args: readonly string[]): string | undefined {
  try {
    return execFileSync('sh', ['-c', `${program} ${args.join(' ')} 2>&1`], { encoding: 'utf8' }).split('\n')[0]
  } catch {
    return undefined
  }
}
