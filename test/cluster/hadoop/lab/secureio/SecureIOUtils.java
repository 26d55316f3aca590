package org.apache.hadoop.io;

import java.io.File;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.attribute.PosixFilePermission;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Stands in for Hadoop's own class on a secure cluster of ours. That one needs the native library, which is not to be
 * had as an artifact: without it a NodeManager ends itself when the first application's logs are collected. What the
 * library is for, refusing a log that is not the application's user's, could never hold here, because
 * DefaultContainerExecutor runs every container as one user of the operating system. So this class opens what is asked
 * for, as Hadoop's own does on a cluster that is not secure.
 */
public class SecureIOUtils {
  private SecureIOUtils() {}

  public static RandomAccessFile openForRandomRead(File file, String mode, String owner, String group)
      throws IOException {
    return new RandomAccessFile(file, mode);
  }

  public static FSDataInputStream openFSDataInputStream(File file, String owner, String group) throws IOException {
    return FileSystem.getLocal(new Configuration()).getRaw().open(new Path(file.toURI()));
  }

  public static FileInputStream openForRead(File file, String owner, String group) throws IOException {
    return new FileInputStream(file);
  }

  /** A file that was not there before, with the bits of chmod. */
  public static FileOutputStream createForWrite(File file, int mode) throws IOException {
    Set<PosixFilePermission> granted = new HashSet<>();
    for (PosixFilePermission p : PosixFilePermission.values()) { // from 0400 down to 0001
      if ((mode & (0400 >> p.ordinal())) != 0) {
        granted.add(p);
      }
    }
    try {
      Files.createFile(file.toPath(), PosixFilePermissions.asFileAttribute(granted));
    } catch (FileAlreadyExistsException e) {
      throw new AlreadyExistsException(e);
    }
    return new FileOutputStream(file);
  }

  /** What callers tell apart. */
  public static class AlreadyExistsException extends IOException {
    private static final long serialVersionUID = 1L;

    public AlreadyExistsException(String message) {
      super(message);
    }

    public AlreadyExistsException(Throwable cause) {
      super(cause);
    }
  }
}
