# SPDX-License-Identifier: MIT
#
# What `cmake --install` installs, and `cmake --build BUILD --target uninstall`, which takes it away again. The
# components are the packages that a distribution makes of it: `tool`, `library`, `development`.
#
# All of it is relative to the prefix, so that `cmake --install --prefix` moves it as a whole. Only the units name the
# command by its whole path: they have that of the configuration.
include(CMakePackageConfigHelpers)

# ---- the command ----
install(TARGETS muster COMPONENT tool)
install(TARGETS muster-bench DESTINATION ${CMAKE_INSTALL_LIBEXECDIR} COMPONENT tool)
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man/man1 ${CMAKE_CURRENT_BINARY_DIR}/man/man7
  DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT tool)
foreach(shell bash zsh fish)
  add_custom_command(OUTPUT completion/${shell} DEPENDS muster VERBATIM
    COMMAND ${CMAKE_COMMAND} -E make_directory completion
    COMMAND muster completion ${shell} > completion/${shell})
  list(APPEND completions completion/${shell})
endforeach()
add_custom_target(muster_completion ALL DEPENDS ${completions})
set(completion ${CMAKE_CURRENT_BINARY_DIR}/completion)
install(FILES ${completion}/bash DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions RENAME muster
  COMPONENT tool)
install(FILES ${completion}/zsh DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions RENAME _muster COMPONENT tool)
install(FILES ${completion}/fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d RENAME muster.fish
  COMPONENT tool)

# ---- units of systemd, and its settings ----
set(MUSTER_UNIT_DIR lib/systemd/system CACHE STRING "Where units of systemd lie, below the prefix")
file(GLOB units CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/systemd/*.service.in)
foreach(unit ${units})
  get_filename_component(name ${unit} NAME_WLE)
  configure_file(${unit} systemd/${name} @ONLY)
  install(FILES ${CMAKE_CURRENT_BINARY_DIR}/systemd/${name} DESTINATION ${MUSTER_UNIT_DIR} COMPONENT tool)
endforeach()

# ---- documents ----
install(FILES LICENSE README.md CHANGELOG.md CONTRIBUTING.md DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool)
install(DIRECTORY doc examples DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT tool USE_SOURCE_PERMISSIONS)

# ---- the library ----
install(TARGETS muster_shared EXPORT muster-targets LIBRARY COMPONENT library NAMELINK_COMPONENT development)
install(TARGETS muster_static COMPONENT development)
install(DIRECTORY include/muster TYPE INCLUDE COMPONENT development)
install(DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/man/man3 DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT development)
# Relative to where the .pc file lies.
file(RELATIVE_PATH MUSTER_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(cmake/muster.pc.in muster.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/muster.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/muster)
install(EXPORT muster-targets NAMESPACE muster:: DESTINATION ${package} COMPONENT development)
configure_file(cmake/muster-config.cmake.in muster-config.cmake @ONLY)
# Below 1.0 another minor version may be another interface.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/muster-config-version.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/muster-config.cmake ${CMAKE_CURRENT_BINARY_DIR}/muster-config-version.cmake
  DESTINATION ${package} COMPONENT development)

add_custom_target(uninstall VERBATIM
  COMMAND ${CMAKE_COMMAND} -DMANIFEST=${CMAKE_CURRENT_BINARY_DIR}/install_manifest.txt
    -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/uninstall.cmake)
