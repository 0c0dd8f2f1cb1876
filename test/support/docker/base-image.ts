import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { runSuccessfully } from '../processes.ts'
import type { DockerEngine } from './engine.ts'

const BASE_TAG = 'debian:trixie-slim'
const SUITE = 'trixie'
const CERTIFICATES_DIR = '/usr/local/share/ca-certificates'

/** Lists the certificates that this machine trusts in addition to Debian's. A build may need them to reach package registries. */
const listCertificates = (): readonly string[] =>
  existsSync(CERTIFICATES_DIR)
    ? readdirSync(CERTIFICATES_DIR)
        .filter((name) => name.endsWith('.crt'))
        .toSorted()
    : []

export const baseImage = {
  /** Returns the path of all certificates, for programs with their own default. It is empty without additional certificates. */
  getCertificatesFile: (): string => (listCertificates().length > 0 ? '/etc/ssl/certs/ca-certificates.crt' : ''),
}

/** Options of mmdebstrap for a minimal Debian like the official slim image, without documentation and translations. */
const BOOTSTRAP_OPTIONS = [
  '--variant=minbase',
  '--include=ca-certificates,netbase,tzdata',
  '--aptopt=APT::Install-Recommends "false"',
  '--dpkgopt=force-unsafe-io',
  ...['doc', 'man', 'info', 'locale'].map((name) => `--dpkgopt=path-exclude=/usr/share/${name}/*`),
  '--customize-hook=rm -rf "$1"/var/log/*.log "$1"/var/log/apt',
]

const listCertificateHooks = (): readonly string[] => [
  `--customize-hook=mkdir -p "$1${CERTIFICATES_DIR}"`,
  ...listCertificates().map((name) => `--customize-hook=cp "${join(CERTIFICATES_DIR, name)}" "$1${CERTIFICATES_DIR}/"`),
  '--customize-hook=chroot "$1" update-ca-certificates',
]

/** Builds debian:trixie-slim from Debian's packages if it is missing or outdated. @returns the hash of its inputs */
export async function buildBaseImage(engine: DockerEngine, label: string): Promise<string> {
  const options = [...BOOTSTRAP_OPTIONS, ...listCertificateHooks()]
  const hash = createHash('sha256').update(JSON.stringify([SUITE, options]))
  for (const name of listCertificates()) hash.update(readFileSync(join(CERTIFICATES_DIR, name)))
  const contentHash = hash.digest('hex').slice(0, 16)
  const existingHash = await engine
    .docker('image', 'inspect', '--format', `{{index .Config.Labels "${label}"}}`, BASE_TAG)
    .catch(() => '')
  if (existingHash === contentHash) return contentHash
  console.log(`Building ${BASE_TAG} for tests with containers (once, about a minute) ...`)
  const archive = join(engine.folder, 'base.tar')
  await runSuccessfully('mmdebstrap', ['--quiet', ...options, SUITE, archive])
  const changes = [`LABEL ${label}=${contentHash}`, 'CMD ["bash"]'].flatMap((change) => ['--change', change])
  await engine.docker('import', ...changes, archive, BASE_TAG)
  rmSync(archive)
  return contentHash
}
