import { join } from 'node:path'
import { createVaultFiles, publishVaultFile, rotateVaultFiles, type VaultFiles } from '@penstock/adapters/system/vault-files.ts'
import { fileOpener, fileSealer } from '@penstock/adapters/system/vault.ts'
import type { Config } from '@penstock/config/config.ts'
import type { PortOpeners } from '@penstock/runtime/manifest.ts'

/** The files of a vault, in one folder or in two. */
export const vaultFilesOf = (privateFolder: string, publicFolder = privateFolder): VaultFiles => ({
  privateFile: join(privateFolder, 'vault.json'),
  publicFile: join(publicFolder, 'vault.pub.json'),
})

/** Creates the vault of a market on this machine at its first start. */
export const createVault = (...folders: Parameters<typeof vaultFilesOf>): void => createVaultFiles(vaultFilesOf(...folders))

/** Adds a key to the vault of a folder, and makes it current. @returns the id of the key @throws Error with the remedy */
export const rotateVault = (folder: string): string => rotateVaultFiles(vaultFilesOf(folder))

/** Writes the public keys of a folder's vault from its private keys. @throws Error with the remedy */
export const publishVault = (folder: string): void => publishVaultFile(vaultFilesOf(folder))

export type VaultOpeners = Pick<PortOpeners, 'opener' | 'sealer'>

/** The two sides of the vault, by the configured files or those of the data folder. They throw Error if a file is missing. */
export function createVaultOpeners(
  { path }: { readonly path: string },
  { vaultFile, vaultPublicFile }: Pick<Config, 'vaultFile' | 'vaultPublicFile'>,
): VaultOpeners {
  const { privateFile, publicFile } = vaultFilesOf(path)
  return { opener: () => fileOpener(vaultFile || privateFile), sealer: () => fileSealer(vaultPublicFile || publicFile) }
}
